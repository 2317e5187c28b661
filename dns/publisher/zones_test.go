package publisher

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// A record whose ownership record would be in no zone isn't created, because it would have no
// owner.
func TestOwnershipRecordOutside(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me"})
		w.objects.set("apex", record(t, "apex", zoneName, "A", "192.0.2.1"))
		w.objects.set("web", record(t, "web", "web."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("web.shop.test A 192.0.2.1")
		w.expectNotices(map[string]int{"RecordError FailedSync shop.test A": some, "%{record_type}": some})
		w.stop()
		w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me", Prefix: "%{record_type}-."})
		w.objects.set("web")
		w.start()
		waitIdle()
		w.expectSets(2) // the apex, and what has an ownership record of another format
	})
}

// Names go into the most specific zone; the ownership record of an apex may be in the zone above.
func TestZones(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.createZone("eu.shop.test")
		w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me"})
		w.objects.set("a", record(t, "a", "a.eu.shop.test", "A", "192.0.2.1"))
		w.objects.set("apex", record(t, "apex", "eu.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		want := map[string][]string{
			"eu.shop.test": {"a-a.eu.shop.test", "a.eu.shop.test", "eu.shop.test"},
			"shop.test":    {"a-b.shop.test", "a-eu.shop.test", "b.shop.test"},
		}
		check := func() {
			t.Helper()
			for zone, names := range want {
				var got []string
				for _, r := range w.in(dns.Zone{ID: zone, Name: zone}) {
					got = append(got, r.Name)
				}
				if !slices.Equal(got, names) {
					t.Errorf("zone %s has %v, want %v", zone, got, names)
				}
			}
		}
		check()
		time.Sleep(2 * DefaultInterval)
		check()
		w.objects.set("apex", record(t, "apex", "eu.shop.test", "A", "192.0.2.2"))
		waitIdle()
		w.expectZone("a.eu.shop.test A 192.0.2.1", "eu.shop.test A 192.0.2.2", "b.shop.test A 192.0.2.1")
		w.objects.set("apex")
		want = map[string][]string{"eu.shop.test": {"a-a.eu.shop.test", "a.eu.shop.test"}, "shop.test": {"a-b.shop.test", "b.shop.test"}}
		waitIdle()
		check()
	})
}

// A zone that can't be read or written doesn't affect the others.
func TestZonesAreApart(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.createZone("other.test")
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(ctx context.Context, c inmemorytest.Call) error {
			if c.Operation == inmemorytest.Records && c.Zone.Name == zoneName {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}})
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.other.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		if w.zones.Get(dns.Key{Name: "b.other.test", Type: "A"}) == nil {
			t.Error("the name of the other zone isn't published")
		}
		w.working()
		time.Sleep(listTimeout + 2*DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1", "b.other.test A 192.0.2.1")
	})
}

// A process that begins to lead reads the zones again. One that has stopped leading changes
// nothing.
func TestTerms(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.standby = true
		w.start()
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		waitIdle()
		w.expectZone()
		for range 3 {
			w.lead()
			waitIdle()
			w.expectZone("a.shop.test A 192.0.2.1")
			w.endTerm()
			waitIdle()
			for _, r := range w.listing() {
				w.byHand(dns.Change{Old: r})
			}
			time.Sleep(3 * DefaultInterval)
			w.expectZone()
		}
	})
}

// Nothing is written when writes are no longer allowed.
func TestFence(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var lost atomic.Bool
		lost.Store(true)
		w.change = func(c *Config) {
			c.MayWrite = func() error {
				if lost.Load() {
					return errors.New("the lease is lost")
				}
				return nil
			}
		}
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		time.Sleep(3 * DefaultInterval)
		w.expectZone()
		lost.Store(false)
		time.Sleep(DefaultInterval)
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1")
	})
}
