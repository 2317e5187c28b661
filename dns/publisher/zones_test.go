package publisher

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
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
				records, err := w.zones.Records(t.Context(), dns.Zone{ID: zone, Name: zone})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range records {
					got = append(got, r.Name)
				}
				if strings.Join(got, " ") != strings.Join(names, " ") {
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
		w.zones.SetHooks(inmemory.Hooks{Before: func(ctx context.Context, c inmemory.Call) error {
			if c.Operation == inmemory.Records && c.Zone.Name == zoneName {
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

// rounding is a provider that stores TTLs of whole minutes only.
type rounding struct {
	provider.Provider
	calls atomic.Int32
}

func (r *rounding) Adjust(ctx context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	if r.calls.Add(1) == 1 {
		return nil, errors.New("not yet")
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
	return provider.AdjustEach(wanted, func(w *dns.RecordSet) (*dns.RecordSet, error) {
		a := w.Clone()
		a.TTL = (w.TTL + 59) / 60 * 60
		return a, nil
	}), nil
}

// A record set that a provider stores differently isn't updated again and again. A change of
// an object during the call of Adjust isn't lost.
func TestAdjust(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		adjusts := &rounding{Provider: w.zones}
		w.provider = adjusts
		var c called
		w.zones.SetHooks(c.hooks(0))
		a := record(t, "a", "a.shop.test", "A", "192.0.2.1")
		a.TTL = 61
		w.objects.set("a", a)
		w.start()
		time.Sleep(5 * DefaultInterval)
		if n := len(c.batches()); n != 1 {
			t.Errorf("%d batches, want 1", n)
		}
		for i := range 20 {
			w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2."+string(rune('1'+i%9))))
			time.Sleep(7 * time.Millisecond)
		}
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.2")
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
