package publisher

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

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
				var version atomic.Int64
				w.provider = &altered{
					Provider:     w.zones,
					capabilities: func(c *provider.Capabilities) { c.ListingTime = 15 * time.Minute },
					zones: func(zones []dns.Zone) []dns.Zone {
						for i := range zones {
							zones[i].Version = fmt.Sprint(version.Load())
						}
						return zones
					},
				}
				w.change = func(c *Config) { c.Interval, c.Limits.ListingTime = time.Minute, tt.set }
				var c called
				w.zones.SetHooks(c.hooks(0))
				www := "www." + zoneName
				w.objects.set("web", record(t, "web", www, "A", "192.0.2.1"))
				w.start()
				waitIdle()
				before := len(c.times(inmemorytest.Records))
				time.Sleep(time.Hour)
				if n := len(c.times(inmemorytest.Records)) - before; n < tt.quiet-1 || n > tt.quiet+1 {
					t.Errorf("%d readings in an idle hour, want %d", n, tt.quiet)
				}
				if n := len(c.times(inmemorytest.Zones)); n < 60 || n > 62 {
					t.Errorf("%d lists of zones in an hour, want 60", n)
				}
				time.Sleep(time.Minute)
				// Somebody removes the record.
				w.zones.Delete(dns.Key{Name: www, Type: "A"})
				version.Add(1)
				time.Sleep(time.Minute + time.Second)
				w.expectZone(www + " A 192.0.2.1")
			})
		})
	}
}
