package publisher

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider/inmemory"
)

// growing is a provider whose first zone becomes too large to be read.
type growing struct {
	*inmemory.Provider
	tooMuch atomic.Bool
	read    atomic.Int64
}

func (g *growing) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	if zone.Name == zoneName {
		g.read.Add(1)
		if g.tooMuch.Load() {
			return nil, fmt.Errorf("read zone %s: %w", zone.Name, listlimit.ErrExceeded)
		}
	}
	return g.Provider.Records(ctx, zone)
}

// A zone that has become too large to be read stays unchanged and is read less and less often.
// Other zones are published as before (tenants S9).
func TestZoneTooLarge(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		if err := w.zones.CreateZone("other.test"); err != nil {
			t.Fatal(err)
		}
		g := &growing{Provider: w.zones}
		w.provider = g
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.other.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1")
		g.tooMuch.Store(true)
		time.Sleep(2 * DefaultInterval)
		before := g.read.Load()
		time.Sleep(time.Hour)
		if n := g.read.Load() - before; n == 0 || n > 60 {
			t.Errorf("the zone was read %d times in an hour", n)
		}
		w.objects.set("c", record(t, "c", "c.other.test", "A", "192.0.2.3"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1", "c.other.test A 192.0.2.3")
		g.tooMuch.Store(false)
		time.Sleep(time.Hour)
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1", "c.other.test A 192.0.2.3")
	})
}
