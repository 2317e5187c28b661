package publisher

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// A manual record that was created after the listing stays. Its name is planned again at once and
// becomes a conflict, not a failure. Other names of the batch continue (D4).
func TestStaleIsPlannedAgain(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.start()
		waitIdle()
		hers := &dns.RecordSet{Name: "www." + zoneName, Type: "A", Targets: []string{"203.0.113.66"}}
		w.byHand(dns.Change{New: hers})
		time.Sleep(3 * time.Second)
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"), record(t, "web", "api."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		waitIdle()
		w.expectZone("api.shop.test A 192.0.2.1", "www.shop.test A 203.0.113.66")
		if slices.ContainsFunc(w.listing(), func(r *dns.RecordSet) bool { return r.Name == "own-a-www."+zoneName }) {
			t.Error("her record has our ownership record")
		}
		w.expectNotices(map[string]int{"RecordConflict FailedSync www.shop.test A": some, "RecordError": 0})
		w.objects.set("web")
		time.Sleep(3 * time.Minute)
		w.expectZone("www.shop.test A 203.0.113.66")
	})
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

// wholly is a provider that can only say that something has changed, as one does that writes
// a zone as one document.
type wholly struct{ provider.Provider }

func (w wholly) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	now, err := w.Records(ctx, zone)
	if err != nil {
		return err
	}
	if provider.Unchanged(changes, now) != nil {
		return provider.ErrStale
	}
	return w.Provider.Apply(ctx, zone, changes)
}

// A batch that is stale as a whole is planned again too, and the zone isn't delayed.
func TestStaleBatch(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = wholly{w.zones}
		w.start()
		waitIdle()
		w.byHand(dns.Change{New: &dns.RecordSet{Name: "www." + zoneName, Type: "A", Targets: []string{"203.0.113.66"}}})
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"), record(t, "web", "api."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		waitIdle()
		w.expectZone("api.shop.test A 192.0.2.1", "www.shop.test A 203.0.113.66")
		w.expectNotices(map[string]int{"RecordError": 0, "ProviderFailed": 0})
	})
}
