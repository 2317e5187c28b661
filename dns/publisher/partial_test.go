package publisher

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/source"
)

// partial is a provider that can't list the zones of one of its accounts.
type partial struct {
	*inmemory.Provider
	unlisted error
	// fixed is true when the account can be listed again.
	fixed atomic.Bool
}

func (p *partial) Unlisted() error {
	if p.fixed.Load() {
		return nil
	}
	return p.unlisted
}

// If one of two accounts (--aws-profile) can't be listed, Once fails, publishes the known zones,
// and doesn't advise to create a zone that may exist (clouds F4).
func TestOnceFailsIfAnAccountIsNotListed(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &partial{Provider: w.zones, unlisted: errors.New("list the zones of the profile b: AccessDenied")}
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "x.b.test", "A", "192.0.2.2"))
		_, err := w.make().Once(t.Context(), closedChannel(), onceLimit)
		if err == nil || !strings.Contains(err.Error(), "the profile b: AccessDenied") {
			t.Errorf("the run ends with %v", err)
		}
		w.expectZone("a.shop.test A 192.0.2.1")
		w.expectNotices(map[string]int{"create the zone": 0, "may be in another one: list the zones of the profile b": some})
	})
}

// When the account can be listed again, the advice is the usual one (clouds F4).
func TestAccountThatIsListedAgain(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		p := &partial{Provider: w.zones, unlisted: errors.New("AccessDenied")}
		w.provider = p
		w.objects.set("a", record(t, "a", "x.b.test", "A", "192.0.2.2"))
		w.start()
		waitIdle()
		w.takeNotices()
		p.fixed.Store(true)
		time.Sleep(2 * DefaultInterval)
		w.expectNotices(map[string]int{"create the zone": some})
	})
}

// unselecting is a provider that has a zone sub.shop.test, which isn't selected.
type unselecting struct{ *inmemory.Provider }

func (unselecting) DomainFilter(context.Context) dns.Filter {
	return dns.NewDomainFilter(nil, []string{"sub.shop.test"})
}

// refiltering is a provider whose filter changes.
type refiltering struct {
	*inmemory.Provider
	excluded atomic.Pointer[string]
}

func (p *refiltering) DomainFilter(context.Context) dns.Filter {
	return dns.NewDomainFilter(nil, []string{*p.excluded.Load()})
}

// When the provider's filter changes, newly selected names are published, and their unwanted
// records deleted. Names that are no longer selected stay unchanged.
func TestFilterOfTheProviderChanges(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		p := &refiltering{Provider: w.zones}
		excluded := func(domain string) { p.excluded.Store(&domain) }
		excluded("x.test")
		w.provider = p
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
		w.provider = unselecting{w.zones}
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
