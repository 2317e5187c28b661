package azure

import (
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/azuretest"
)

var (
	costNames = flag.Int("azure.names", 500, "how many names TestCosts publishes")
	costZones = flag.Int("azure.zones", 5, "in how many zones TestCosts publishes")
)

// What docs/dns/azure.md says of costs: a request for each record set that changes, and one for each
// 1,000 record sets of a zone that is read.
func TestCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, false)
		w.Log = slog.New(slog.DiscardHandler)
		var wanted []*dns.RecordSet
		for i := range *costZones {
			w.addZone(fmt.Sprintf("z%d.test", i), azuretest.Group)
		}
		for i := range *costNames {
			wanted = append(wanted, set(fmt.Sprintf("n%d.z%d.test", i, i%*costZones), "A", "192.0.2.1"))
		}
		requests, err := w.Run(wanted...)
		if err != nil || writes(requests) != 2**costNames || requests[azuretest.ListSets] != *costZones || requests[azuretest.ListZones] != 1 || requests[azuretest.Get] > 0 {
			t.Fatalf("first publication: %v, %v", requests, err)
		}
		t.Logf("first publication: %v", requests)
		requests, err = w.Run(wanted...)
		pages := *costZones * (2**costNames / *costZones / page + 1)
		if err != nil || writes(requests) > 0 || requests[azuretest.ListSets] > pages {
			t.Fatalf("nothing to do: %v, %v", requests, err)
		}
		t.Logf("nothing to do: %v", requests)
		for i := range 100 {
			wanted[i] = set(wanted[i].Name, "A", "192.0.2.2")
		}
		requests, err = w.Run(wanted...)
		if err != nil || writes(requests) != 100 || requests[azuretest.Get] > 0 {
			t.Fatalf("100 changes: %v, %v", requests, err)
		}
		t.Logf("100 changes: %v", requests)
	})
}

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.CheckCost(func(_ int, name string) { w.addZone(name, azuretest.Group) })
	})
}

// A listing that is throttled at a page continues with this page after the pause, and doesn't begin anew.
func TestListingContinues(t *testing.T) {
	inBoth(t, func(w *fixture) {
		for i := range 4 * page {
			w.server.Set(zoneName, address(fmt.Sprint("n", i), "192.0.2.1"))
		}
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			w.T.Fatal(err)
		}
		w.server.Operations()
		pages := 0
		w.before(func(c azuretest.Call) *azuretest.Fault {
			if pages++; pages == 3 {
				return azuretest.Throttled(45)
			}
			return nil
		})
		sets, err := p.Records(w.T.Context(), zones[0])
		if n := w.server.Operations()[azuretest.ListSets]; err != nil || len(sets) < 4*page || n > 6 {
			w.T.Errorf("%d record sets with %d requests, %v", len(sets), n, err)
		}
	})
}
