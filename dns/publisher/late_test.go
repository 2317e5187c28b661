package publisher

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// atomically is a provider that makes all changes of a call or none.
type atomically struct{ *altered }

func (atomically) Atomic() {}

// A record of ours that appears late stays ours, and is updated to what objects ask for. The lab
// once found its ownership record removed (make lab SEED=5).
func TestLateUpdateOfAnEarlierProcess(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		// Just before the first changes, the server carries out what a process with the same owner had sent before
		// it ended: the same record sets and ownership records, with other targets. So it refuses these changes.
		carriedOut := false
		w.provider = atomically{&altered{Provider: w.zones, apply: func(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
			if carriedOut {
				return w.applyUnchanged(ctx, zone, changes)
			}
			carriedOut = true
			before := slices.Clone(changes)
			for i, c := range before {
				if c.New != nil && c.New.Type == "A" {
					older := *c.New
					older.Targets = []string{"192.0.2.10"}
					before[i] = dns.Change{New: &older}
				}
			}
			if err := w.zones.Apply(ctx, zone, before); err != nil {
				return err
			}
			return provider.ErrStale
		}}}
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		time.Sleep(5 * time.Minute)
		w.expectZone("www.shop.test A 192.0.2.1")
		if !slices.ContainsFunc(w.listing(), func(r *dns.RecordSet) bool { return r.Name == "own-a-www."+zoneName }) {
			t.Error("the record has lost its ownership record")
		}
	})
}
