package publisher

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// A zone that has become too large to be read stays unchanged and is read less and less often.
// Other zones are published as before (tenants S9).
func TestZoneTooLarge(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.createZone("other.test")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.other.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1")
		var read atomic.Int64
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			if c.Operation == inmemorytest.Records && c.Zone.Name == zoneName {
				read.Add(1)
				return fmt.Errorf("read zone %s: %w", zoneName, listlimit.ErrExceeded)
			}
			return nil
		}})
		time.Sleep(2 * DefaultInterval)
		before := read.Load()
		time.Sleep(time.Hour)
		if n := read.Load() - before; n == 0 || n > 60 {
			t.Errorf("the zone was read %d times in an hour", n)
		}
		w.objects.set("c", record(t, "c", "c.other.test", "A", "192.0.2.3"))
		waitIdle()
		w.working()
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1", "c.other.test A 192.0.2.3")
		time.Sleep(time.Hour)
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1", "c.other.test A 192.0.2.3")
	})
}

// A zone with too many record sets of one name is an error of that zone. Comparing them takes the
// square of their number, in the loop that all zones share.
func TestTooManyRecordSetsListed(t *testing.T) {
	for sets, readable := range map[int]bool{maxListedSets: true, maxListedSets + 1: false, 50_000: false} {
		t.Run(fmt.Sprint(sets), func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.createZone("other.test")
				w.provider = &altered{Provider: w.zones, records: func(zone dns.Zone, records []*dns.RecordSet) []*dns.RecordSet {
					for i := range sets {
						if zone.Name == zoneName {
							records = append(records, &dns.RecordSet{Name: "many." + zoneName, Type: "A", Targets: []string{"192.0.2.1"}, SetIdentifier: fmt.Sprint(i)})
						}
					}
					return records
				}}
				w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "many.shop.test", "A", "192.0.2.1"))
				w.objects.set("b", record(t, "b", "b.other.test", "A", "192.0.2.1"))
				w.start()
				time.Sleep(DefaultInterval / 2) // With the next listing, what was published would be one too many.
				published := w.zones.Get(dns.Key{Name: "a.shop.test", Type: "A"}) != nil
				if published != readable || w.zones.Get(dns.Key{Name: "b.other.test", Type: "A"}) == nil {
					t.Errorf("zone: %q", w.zone())
				}
				if notices := strings.Join(w.takeNotices(), "\n"); readable == strings.Contains(notices, "record sets of the name many.shop.test") {
					t.Errorf("notices: %s", notices)
				}
			})
		})
	}
}
