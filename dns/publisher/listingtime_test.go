package publisher

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
)

// metered is a provider that counts calls, and tells how many records its zones have.
type metered struct {
	*inmemory.Provider
	version atomic.Int64
}

func (m *metered) Capabilities() provider.Capabilities {
	c := m.Provider.Capabilities()
	c.ListingTime = 15 * time.Minute
	return c
}

func (m *metered) Zones(ctx context.Context) ([]dns.Zone, error) {
	zones, err := m.Provider.Zones(ctx)
	zones = slices.Clone(zones)
	for i := range zones {
		zones[i].Version = fmt.Sprint(m.version.Load())
	}
	return zones, err
}

// With a provider that counts calls, zones are read four times an hour, and at once when their
// version in the list of zones changes. The time can be set.
func TestListingTime(t *testing.T) {
	for name, tt := range map[string]struct {
		set   time.Duration
		quiet int
	}{
		"the provider's": {0, 4},
		"set":            {time.Minute, 60},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				m := &metered{Provider: w.zones}
				w.change = func(c *Config) { c.Provider, c.Interval, c.Limits.ListingTime = m, time.Minute, tt.set }
				var c called
				w.zones.SetHooks(c.hooks(0))
				www := "www." + zoneName
				w.objects.set("web", record(t, "web", www, "A", "192.0.2.1"))
				w.start()
				waitIdle()
				before := len(c.times(inmemory.Records))
				time.Sleep(time.Hour)
				if n := len(c.times(inmemory.Records)) - before; n < tt.quiet-1 || n > tt.quiet+1 {
					t.Errorf("%d readings in an idle hour, want %d", n, tt.quiet)
				}
				if n := len(c.times(inmemory.Zones)); n < 60 || n > 62 {
					t.Errorf("%d lists of zones in an hour, want 60", n)
				}
				time.Sleep(time.Minute)
				// Somebody removes the record.
				w.zones.Delete(dns.Key{Name: www, Type: "A"})
				m.version.Add(1)
				time.Sleep(time.Minute + time.Second)
				w.expectZone(www + " A 192.0.2.1")
			})
		})
	}
}
