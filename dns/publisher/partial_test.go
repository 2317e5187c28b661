package publisher

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// If one of two accounts (--aws-profile) can't be listed, Once fails, publishes the known zones,
// and doesn't advise to create a zone that may exist, until the account can be listed again (clouds F4).
func TestOnceFailsIfAnAccountIsNotListed(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		v := w.vanishing()
		v.incomplete.Store(true)
		w.provider = v
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "x.b.test", "A", "192.0.2.2"))
		_, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
		if err == nil || !strings.Contains(err.Error(), "the profile b: AccessDenied") {
			t.Errorf("the run ends with %v", err)
		}
		w.expectZone("a.shop.test A 192.0.2.1")
		w.expectNotices(map[string]int{"create the zone": 0, "may be in another one: list the zones of the profile b": some})
		w.start()
		waitIdle()
		w.expectNotices(map[string]int{"create the zone": 0})
		v.incomplete.Store(false)
		time.Sleep(2 * DefaultInterval)
		w.expectNotices(map[string]int{"create the zone": some})
	})
}

// When the provider's filter changes, newly selected names are published, and their unwanted
// records deleted. Names that are no longer selected stay unchanged.
func TestFilterOfTheProviderChanges(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var domain atomic.Pointer[string]
		excluded := func(name string) { domain.Store(&name) }
		excluded("x.test")
		w.provider = &altered{Provider: w.zones, filter: func() dns.Filter { return dns.NewDomainFilter(nil, []string{*domain.Load()}) }}
		gone := record(t, "gone", "gone.sub.shop.test", "A", "192.0.2.9")
		w.objects.set("gone", gone)
		w.start()
		waitIdle()
		excluded("sub.shop.test")
		time.Sleep(2 * DefaultInterval)
		w.objects.set("gone")
		w.objects.set("a", record(t, "a", "a.sub.shop.test", "A", "192.0.2.1"), record(t, "a", "c.shop.test", "A", "192.0.2.1"))
		time.Sleep(2 * DefaultInterval)
		w.expectZone("c.shop.test A 192.0.2.1", "gone.sub.shop.test A 192.0.2.9")
		excluded("x.test")
		time.Sleep(2 * DefaultInterval)
		w.expectZone("a.sub.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1")
		excluded("shop.test")
		time.Sleep(2 * DefaultInterval)
		w.objects.set("a")
		time.Sleep(2 * DefaultInterval)
		w.expectZone("a.sub.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1")
	})
}

// Names below an unselected zone are reported by one log line and by explain (clouds F7).
func TestNamesOfAZoneThatIsNotSelected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newFixture(t)
		// The zone sub.shop.test isn't selected.
		w.provider = &altered{Provider: w.zones, filter: func() dns.Filter { return dns.NewDomainFilter(nil, []string{"sub.shop.test"}) }}
		w.change = func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			c.Sources[0].Keys = func() []source.Key { return []source.Key{{Namespace: "default", Name: "a"}} }
		}
		w.objects.set("a", record(t, "a", "a.sub.shop.test", "A", "192.0.2.1"), record(t, "a", "b.sub.shop.test", "A", "192.0.2.1"), record(t, "a", "c.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("c.shop.test A 192.0.2.1")
		explained, err := w.publisher.Explain(t.Context(), ExplainQuery{OnlyIncomplete: true, Limit: 10})
		if err != nil || len(explained.List) != 1 || len(explained.List[0].Dropped) != 2 || !strings.Contains(explained.List[0].Dropped[0].Message, "isn't selected") {
			t.Errorf("explained %+v, %v", explained, err)
		}
		w.stop()
		if n := strings.Count(log.String(), "Left out names"); n != 1 {
			t.Errorf("%d lines, want one:\n%s", n, log.String())
		}
	})
}
