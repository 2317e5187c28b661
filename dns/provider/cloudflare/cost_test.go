package cloudflare

import (
	"fmt"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// How many requests the publication of many names takes, and how many a run in which nothing changes. The
// documentation of the provider has these numbers (docs/dns/cloudflare.md).
func TestCosts(t *testing.T) {
	for _, test := range []struct {
		zones, names    int
		plan            string
		publish, repeat int
	}{
		// A request lists the zones, and each zone is listed, and read before it is changed.
		{zones: 1, names: 1000, plan: free, publish: 14, repeat: 2},
		{zones: 1, names: 10_000, plan: paid, publish: 15, repeat: 5},
		{zones: 50, names: 10_000, plan: free, publish: 201, repeat: 51},
	} {
		if testing.Short() && test.names > 1000 {
			continue
		}
		t.Run(fmt.Sprintf("%d names in %d zones", test.names, test.zones), func(t *testing.T) {
			withFixture(t, test.plan, func(w *fixture) {
				w.server.DeleteZone(w.zone)
				for i := range test.zones {
					w.server.AddZone(cloudflaretest.Zone{Name: fmt.Sprintf("z%d.test", i), Plan: test.plan})
				}
				var sets []*dns.RecordSet
				for i := range test.names {
					sets = append(sets, want(fmt.Sprintf("n%d.z%d.test", i, i%test.zones), "A", "192.0.2.1"))
				}
				first, err := w.Run(sets...)
				if err != nil || publishertest.Total(first) > test.publish {
					t.Errorf("%d requests to publish, want at most %d: %v, %v", publishertest.Total(first), test.publish, first, err)
				}
				again, err := w.Run(sets...)
				if err != nil || publishertest.Total(again) > test.repeat || writesOf(again) > 0 {
					t.Errorf("%d requests to do nothing, want at most %d: %v, %v", publishertest.Total(again), test.repeat, again, err)
				}
				t.Logf("published with %d requests, %v; read with %d, %v", publishertest.Total(first), first, publishertest.Total(again), again)
			})
		})
	}
}

// A single change takes two requests: its names are read, and changed. An ownership record needs no third
// one.
func TestCostOfSingleChanges(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.server.Operations()
		for i := range 100 {
			name := fmt.Sprintf("n%d.shop.test", i)
			ownership := want("a-"+name, "TXT", `"heritage=external-dns,external-dns/owner=me"`)
			ownership.Labels[dns.LabelOwnedRecord] = name
			if err := p.Apply(w.T.Context(), zones[0], []dns.Change{{New: ownership}, {New: want(name, "A", "192.0.2.1")}}); err != nil {
				t.Fatal(err)
			}
		}
		if requests := w.server.Operations(); publishertest.Total(requests) != 200 || requests[cloudflaretest.Batch] != 100 {
			t.Errorf("%v for 100 changes", requests)
		}
	})
}

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.server.DeleteZone(w.zone)
		w.CheckCost(func(_ int, name string) { w.server.AddZone(cloudflaretest.Zone{Name: name, Plan: free}) })
	})
}
