package google

import (
	"flag"
	"fmt"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// names is 10000 for the figures of the documentation.
var names = flag.Int("google.names", 1000, "how many names are published to find out what they cost")

// What 10,000 names in 50 zones cost, in requests (docs/dns/google.md): to publish them, to look at them
// when nothing has changed, and to change one at a time. Fewer of them cost the same.
func TestCosts(t *testing.T) {
	withFixture(t, func(w *fixture) {
		const zones = 50
		each := *names / zones
		var wanted []*dns.RecordSet
		for z := range zones {
			w.server.AddZone(clouddnstest.Zone{Name: fmt.Sprint("zone", z), DNSName: fmt.Sprintf("zone%d.test", z)})
			for i := range each {
				wanted = append(wanted, set(fmt.Sprintf("n%d.zone%d.test", i, z), "A", "192.0.2.1"))
			}
		}
		// The zone shop is one more.
		for step, want := range []map[string]int{
			{clouddnstest.ListZones: 1, clouddnstest.ListSets: zones + 1, clouddnstest.CreateChange: zones},
			{clouddnstest.ListZones: 1, clouddnstest.ListSets: zones + 1},
		} {
			got, err := w.Run(wanted...)
			for operation, n := range want {
				if got[operation] > n {
					t.Errorf("step %d: %d requests %s, want at most %d", step, got[operation], operation, n)
				}
			}
			if err != nil || publishertest.Total(got) > publishertest.Total(want) {
				t.Errorf("step %d: %v, %v", step, got, err)
			}
		}
		p := w.open()
		listed, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.server.Calls()
		for i := range 100 {
			for _, z := range listed {
				if z.ID == shop {
					err = p.Apply(w.T.Context(), z, []dns.Change{{New: set(fmt.Sprintf("x%d.shop.test", i), "A", "192.0.2.1")}})
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.server.Calls()); n != 100 {
			t.Errorf("100 changes took %d requests", n)
		}
	})
}

// A zone is read with one request for each 1,000 record sets.
func TestLargeZone(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	server.AddZone(clouddnstest.Zone{Name: shop, DNSName: zoneName})
	server.Fill(shop, 20_000)
	p := open(t, input(server))
	zones, err := p.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Calls()
	sets, err := p.Records(t.Context(), zones[0])
	if n := len(server.Calls()); err != nil || len(sets) < 20_000 || n > 21 {
		t.Errorf("%d record sets with %d requests, %v", len(sets), n, err)
	}
}

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.CheckCost(func(i int, name string) {
			w.server.AddZone(clouddnstest.Zone{Name: fmt.Sprintf("shop%d", i), DNSName: name + "."})
		})
	})
}

// A listing that is throttled at a page continues with this page after the pause, and doesn't begin anew.
func TestListingContinues(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.Fill(shop, 4_500)
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.server.Calls()
		pages := 0
		w.refuseIf(clouddnstest.Exhausted, func(c clouddnstest.Call) bool {
			pages++
			return pages == 3
		})
		sets, err := p.Records(w.T.Context(), zones[0])
		if n := len(w.server.Calls()); err != nil || len(sets) < 4_500 || n != 6 {
			t.Errorf("%d record sets with %d requests, %v", len(sets), n, err)
		}
	})
}
