package publisher

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
)

// If a source panics for one object, the records of that object stay and all others are handled.
// When the object is fixed, its records are updated.
func TestSourcePanics(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.panics = true
		bad := false
		evaluate := func(key source.Key) source.Result {
			if bad && key.Name == "bad" {
				panic("on purpose")
			}
			return w.objects.evaluate(key)
		}
		w.change = func(c *Config) { c.Sources[0].Evaluate = evaluate }
		w.objects.set("bad", record(t, "bad", "bad.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		bad = true
		w.objects.set("bad")
		w.objects.set("good", record(t, "good", "good.shop.test", "A", "192.0.2.2"))
		waitIdle()
		w.expectZone("bad.shop.test A 192.0.2.1", "good.shop.test A 192.0.2.2")
		w.expectNotices(map[string]int{"a bug in Signpost at": some, "TestSourcePanics": some})
		if n := testutil.ToFloat64(w.publisher.Metrics.panics.WithLabelValues("service")); n != 1 {
			t.Errorf("%v panics are counted, want 1", n)
		}
		bad = false
		w.objects.set("bad")
		waitIdle()
		w.expectZone("good.shop.test A 192.0.2.2")
	})
}

// panicking is a provider whose calls panic if at has their name, until it is fixed. Calls of Apply
// that contain the name poison always panic.
type panicking struct {
	provider.Provider
	at, poison string
	fixed      atomic.Bool
}

func (p *panicking) in(call string) {
	if p.at == call && !p.fixed.Load() {
		panic("on purpose")
	}
}

func (p *panicking) Zones(ctx context.Context) ([]dns.Zone, error) {
	p.in("Zones")
	return p.Provider.Zones(ctx)
}

func (p *panicking) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	p.in("Records")
	return p.Provider.Records(ctx, zone)
}

func (p *panicking) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	p.in("Adjust")
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) { return r, nil }), nil
}

func (p *panicking) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	p.in("Apply")
	if p.poison != "" && slices.ContainsFunc(changes, func(c dns.Change) bool { return c.RecordSet().Name == p.poison }) {
		panic("on purpose")
	}
	return p.Provider.Apply(ctx, zone, changes)
}

// A panic in a call of the provider stops nothing else. After the panics end, everything is
// published.
func TestProviderPanics(t *testing.T) {
	for _, call := range []string{"Zones", "Records", "Adjust", "Apply"} {
		t.Run(call, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.panics = true
				p := &panicking{Provider: w.zones, at: call}
				w.provider = p
				w.objects.set("web", record(t, "web", "web.shop.test", "A", "192.0.2.1"))
				w.start()
				time.Sleep(time.Minute)
				w.expectZone()
				if n := testutil.ToFloat64(w.publisher.Metrics.panics.WithLabelValues(atProvider)); n < 2 || n > 60 {
					t.Errorf("%v panics are counted in a minute, want several", n)
				}
				p.fixed.Store(true)
				time.Sleep(3 * time.Minute)
				w.expectZone("web.shop.test A 192.0.2.1")
			})
		})
	}
}

// A name that makes the provider panic is retried alone, and the others are published.
func TestProviderPanicsAboutOneName(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.panics = true
		w.provider = &panicking{Provider: w.zones, poison: "b.shop.test"}
		for _, name := range []string{"a", "b", "c", "d"} {
			w.objects.set(name, record(t, name, name+".shop.test", "A", "192.0.2.1"))
		}
		w.start()
		time.Sleep(time.Minute)
		w.expectZone("a.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1", "d.shop.test A 192.0.2.1")
		w.expectNotices(map[string]int{"b.shop.test A": some, "a bug in Signpost": some})
	})
}
