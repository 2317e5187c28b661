package publisher

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/inmemorytest"
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

// panicAt makes some calls of the provider panic.
func (w *fixture) panicAt(concerns func(inmemorytest.Call) bool) {
	w.panics = true
	w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
		if concerns(c) {
			panic("on purpose")
		}
		return nil
	}})
}

// A panic in a call of the provider stops nothing else. After the panics end, everything is
// published.
func TestProviderPanics(t *testing.T) {
	for _, at := range []inmemorytest.Operation{inmemorytest.Zones, inmemorytest.Records, adjusts, inmemorytest.Apply} {
		t.Run(string(at), func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.panicAt(func(c inmemorytest.Call) bool { return c.Operation == at })
				j := &judging{Provider: w.zones}
				w.provider = j
				j.panics.Store(at == adjusts)
				w.objects.set("web", record(t, "web", "web.shop.test", "A", "192.0.2.1"))
				w.start()
				time.Sleep(time.Minute)
				w.working()
				j.panics.Store(false)
				w.expectZone()
				if n := testutil.ToFloat64(w.publisher.Metrics.panics.WithLabelValues(atProvider)); n < 2 || n > 60 {
					t.Errorf("%v panics are counted in a minute, want several", n)
				}
				time.Sleep(3 * time.Minute)
				w.expectZone("web.shop.test A 192.0.2.1")
			})
		})
	}
}

// A name that makes the provider panic is retried alone, and the others are published.
func TestProviderPanicsAboutOneName(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.panicAt(func(c inmemorytest.Call) bool {
			return slices.ContainsFunc(c.Changes, func(c dns.Change) bool { return c.RecordSet().Name == "b.shop.test" })
		})
		for _, name := range []string{"a", "b", "c", "d"} {
			w.objects.set(name, record(t, name, name+".shop.test", "A", "192.0.2.1"))
		}
		w.start()
		time.Sleep(time.Minute)
		w.expectZone("a.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1", "d.shop.test A 192.0.2.1")
		w.expectNotices(map[string]int{"b.shop.test A": some, "a bug in Signpost": some})
	})
}
