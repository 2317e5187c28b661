package publisher

import (
	"context"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
)

// miscounting is a provider that makes the first batch and reports one rejection for all of its changes.
type miscounting struct {
	*inmemory.Provider
	// calls has "list" or "apply" for each call since the first batch.
	calls []string
}

func (m *miscounting) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	if len(m.calls) > 0 {
		m.calls = append(m.calls, "list")
	}
	return m.Provider.Records(ctx, zone)
}

func (m *miscounting) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	m.calls = append(m.calls, "apply")
	err := m.Provider.Apply(ctx, zone, changes)
	if len(m.calls) > 1 || err != nil {
		return err
	}
	return &provider.ApplyError{Errs: []error{provider.ErrRejected}}
}

// If a provider reports another number of outcomes than it got changes, the outcome is unknown, and the
// zone is read again before anything else is written.
func TestWrongNumberOfOutcomes(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		p := &miscounting{Provider: w.zones}
		w.provider = p
		w.start()
		waitIdle()
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "b.shop.test", "A", "192.0.2.1"))
		waitIdle()
		waitIdle()
		if len(p.calls) < 2 || p.calls[1] != "list" {
			t.Errorf("calls %v, want a list after the first apply", p.calls)
		}
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1")
	})
}
