package publisher

import (
	"context"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// If a provider reports another number of outcomes than it got changes, the outcome is unknown, and the
// zone is read again before anything else is written.
func TestWrongNumberOfOutcomes(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var calls []string // since the first batch
		w.provider = &altered{
			Provider: w.zones,
			records: func(_ dns.Zone, records []*dns.RecordSet) []*dns.RecordSet {
				if len(calls) > 0 {
					calls = append(calls, "list")
				}
				return records
			},
			apply: func(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
				calls = append(calls, "apply")
				if err := w.zones.Apply(ctx, zone, changes); len(calls) > 1 || err != nil {
					return err
				}
				return &provider.ApplyError{Errs: []error{provider.ErrRejected}}
			},
		}
		w.start()
		waitIdle()
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "b.shop.test", "A", "192.0.2.1"))
		waitIdle()
		waitIdle()
		if len(calls) < 2 || calls[1] != "list" {
			t.Errorf("calls %v, want a list after the first apply", calls)
		}
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1")
	})
}
