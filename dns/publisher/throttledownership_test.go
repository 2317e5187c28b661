package publisher

import (
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// An ownership record that was written before the provider throttled doesn't claim a record that
// somebody creates meanwhile.
func TestThrottledAfterOwnershipRecord(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		// The first call makes the ownership records and is throttled before the records.
		w.judging(func(call int, _ dns.Zone, c dns.Change) error {
			if call == 1 && !changesOwnership(c) {
				return &provider.ThrottledError{After: 100 * time.Second}
			}
			return nil
		})
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		if !slices.ContainsFunc(w.listing(), func(r *dns.RecordSet) bool { return r.Name == "own-a-www."+zoneName }) {
			t.Fatal("there is no ownership record")
		}
		w.byHand(dns.Change{New: &dns.RecordSet{Name: "www." + zoneName, Type: "A", Targets: []string{"203.0.113.66"}}})
		time.Sleep(5 * time.Minute)
		w.expectZone("www.shop.test A 203.0.113.66")
		if slices.ContainsFunc(w.listing(), func(r *dns.RecordSet) bool { return r.Name == "own-a-www."+zoneName }) {
			t.Error("the person's record has our ownership record")
		}
	})
}
