package publisher

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// halfway is a provider without transactions. Its first call makes the ownership records and is
// throttled before the records.
type halfway struct {
	provider.Provider
	called bool
}

func (h *halfway) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if h.called {
		return h.Provider.Apply(ctx, zone, changes)
	}
	h.called = true
	errs := make([]error, len(changes))
	var ownerships []dns.Change
	for i, c := range changes {
		if changesOwnership(c) {
			ownerships = append(ownerships, c)
		} else {
			errs[i] = &provider.ThrottledError{After: 100 * time.Second}
		}
	}
	if err := h.Provider.Apply(ctx, zone, ownerships); err != nil {
		return err
	}
	return &provider.ApplyError{Errs: errs}
}

// An ownership record that was written before the provider throttled doesn't claim a record that
// somebody creates meanwhile.
func TestThrottledAfterOwnershipRecord(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &halfway{Provider: w.provider}
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
