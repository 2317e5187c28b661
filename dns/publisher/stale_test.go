package publisher

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// A manual record that was created after the listing stays. Its name is planned again at once and becomes a
// conflict, not a failure, also if the provider can only say that something has changed, as one does that
// writes a zone as one document. Other names of the batch continue (D4).
func TestStaleIsPlannedAgain(t *testing.T) {
	for _, wholly := range []bool{false, true} {
		withFixture(t, func(t *testing.T, w *fixture) {
			if wholly {
				w.provider = &altered{Provider: w.zones, apply: w.applyUnchanged}
			}
			w.start()
			waitIdle()
			w.byHand(dns.Change{New: &dns.RecordSet{Name: "www." + zoneName, Type: "A", Targets: []string{"203.0.113.66"}}})
			time.Sleep(3 * time.Second)
			w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"), record(t, "web", "api."+zoneName, "A", "192.0.2.1"))
			waitIdle()
			waitIdle()
			w.expectZone("api.shop.test A 192.0.2.1", "www.shop.test A 203.0.113.66")
			if n := w.ownershipRecords(); n != 1 {
				t.Errorf("as a whole %t: %d ownership records, want that of api", wholly, n)
			}
			w.expectNotices(map[string]int{"RecordConflict FailedSync www.shop.test A": some, "RecordError": 0, "ProviderFailed": 0})
			w.objects.set("web")
			time.Sleep(3 * time.Minute)
			w.expectZone("www.shop.test A 203.0.113.66")
		})
	}
}

// An external change of one of our records is reverted at once, with the changed record as Old.
func TestStaleUpdate(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		ours := &dns.RecordSet{Name: "www." + zoneName, Type: "A", Targets: []string{"192.0.2.1"}}
		hers := &dns.RecordSet{Name: "www." + zoneName, Type: "A", Targets: []string{"203.0.113.66"}}
		w.byHand(dns.Change{Old: ours, New: hers})
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.2"))
		waitIdle()
		waitIdle()
		w.expectZone("www.shop.test A 192.0.2.2")
		w.expectNotices(map[string]int{"FailedSync": 0})
	})
}
