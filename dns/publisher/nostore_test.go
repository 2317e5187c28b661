package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

var errForbidden = fmt.Errorf("configmaps is forbidden: %w", budget.ErrNoStore)

// After twenty deletions, with six more held, five restarts delete nothing more, be it with the store
// (D24), without it or with an emptied one (Day2 B10 and B16).
func TestRestartsWithoutStoreUndoNoHold(t *testing.T) {
	for name, lose := range map[string]func(*fixture){
		"stored":  func(*fixture) {},
		"refused": func(s *fixture) { s.store.fail(errForbidden) },
		"emptied": func(s *fixture) { s.store.mu.Lock(); s.store.text = []byte{}; s.store.mu.Unlock() },
		"none":    func(s *fixture) { s.change = func(c *Config) { c.Store = nil } },
	} {
		t.Run(name, func(t *testing.T) {
			withFilled(t, func(t *testing.T, s *fixture) {
				s.drop(0, 20)
				s.expectSets(80)
				s.drop(20, 26)
				s.expectSets(80)
				for range 5 {
					s.stop()
					lose(s)
					s.start()
					waitIdle()
					s.expectSets(80)
					s.hash(6)
				}
				if notices := strings.Join(s.takeNotices(), "\n"); strings.Contains(notices, "earlier deletions are unknown after this start") == (name == "stored") {
					t.Errorf("notices about the deletions that are held:\n%s", notices)
				}
				time.Sleep(budget.DefaultLimits().Window)
				s.expectSets(74)
			})
		})
	}
}

// While earlier deletions are unknown, the trouble says until when. It ends then, also if the zone can't be
// read meanwhile.
func TestUnknownBudgetEnds(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		s.stop()
		s.change = func(c *Config) { c.Store = nil }
		s.start()
		waitIdle()
		begun := time.Now()
		s.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			if c.Operation == inmemorytest.Records && time.Since(begun) > budget.DefaultLimits().Window/2 {
				return errors.New("no such luck")
			}
			return nil
		}})
		for range 3 * int(budget.DefaultLimits().Window/DefaultInterval) {
			troubles := slices.DeleteFunc(s.publisher.Troubles(), func(f Trouble) bool { return f.Field != "budget" })
			if ends := time.Since(begun) >= budget.DefaultLimits().Window; (len(troubles) == 0) != ends {
				t.Fatalf("after %v the troubles are %v", time.Since(begun), troubles)
			}
			time.Sleep(DefaultInterval)
		}
	})
}

// A store that refused requests for a while is used again, and the refusal is reported (Day2 B10).
func TestStoreComesBack(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		time.Sleep(budget.DefaultLimits().Window)
		s.store.fail(errForbidden)
		s.drop(0, 5)
		s.expectSets(95) // the process has run for a window, so its own count is enough
		s.expectNotices(map[string]int{"BudgetNotStored FailedSync": 1, "BudgetNotStored": 1, "configmaps is forbidden": some})
		failing := func() float64 { return testutil.ToFloat64(s.publisher.Metrics.storeFailed) }
		if failing() != 1 {
			t.Error("the metric says that budgets are stored")
		}
		if troubles := s.publisher.Troubles(); len(troubles) != 1 || troubles[0].Field != "budget" || !strings.Contains(troubles[0].Reason, "configmaps is forbidden") {
			t.Errorf("the troubles are %v", troubles)
		}
		s.store.fail(nil)
		time.Sleep(DefaultInterval + time.Second)
		if failing() != 0 || len(s.publisher.Troubles()) > 0 {
			t.Errorf("the store works again, and the troubles are %v", s.publisher.Troubles())
		}
		if !strings.Contains(string(s.store.text), `,5]`) {
			t.Errorf("the five deletions are not stored: %s", s.store.text)
		}
		// The same holds in a new term, which begins without the store.
		s.stop()
		s.store.fail(errForbidden)
		s.start()
		waitIdle()
		s.store.fail(nil)
		time.Sleep(DefaultInterval + time.Second)
		if failing() != 0 {
			t.Error("the store that could not be read is not tried again")
		}
		s.drop(5, 10)
		s.expectSets(95)
		hash := s.hash(5)
		if !strings.Contains(string(s.store.text), hash) {
			t.Errorf("the plan %s is not stored: %s", hash, s.store.text)
		}
	})
}

// A zone that the server doesn't have, and a domain filter that excludes all names, are troubles of
// the publisher (Day2 B13).
func TestTroubles(t *testing.T) {
	wanted := func(t *testing.T, w *fixture, field, text string) {
		t.Helper()
		troubles := w.publisher.Troubles()
		if len(troubles) != 1 || troubles[0].Field != field || !strings.Contains(troubles[0].Reason, text) || troubles[0].Since.IsZero() {
			t.Errorf("the troubles are %+v, want one of %q with %q", troubles, field, text)
		}
	}
	t.Run("zone", func(t *testing.T) {
		withFixture(t, func(t *testing.T, w *fixture) {
			w.failing(errors.New("NOTAUTH"), inmemorytest.Records, inmemorytest.Apply)
			w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
			w.start()
			waitIdle()
			wanted(t, w, "zone shop.test", "NOTAUTH")
			w.working()
			time.Sleep(2 * DefaultInterval)
			if troubles := w.publisher.Troubles(); len(troubles) > 0 {
				t.Errorf("%+v", troubles)
			}
		})
	})
	t.Run("filter", func(t *testing.T) {
		withFixture(t, func(t *testing.T, w *fixture) {
			w.change = func(c *Config) { c.Domains = dns.NewDomainFilter([]string{"shop.tset"}, nil) }
			w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
			w.start()
			waitIdle()
			wanted(t, w, "domain-filter", "leaves out all 1 names")
			w.objects.set("b", record(t, "b", "b.shop.tset", "A", "192.0.2.1"))
			waitIdle()
			if troubles := w.publisher.Troubles(); len(troubles) > 0 {
				t.Errorf("%+v", troubles)
			}
		})
	})
}
