package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/testkit/metrictest"
)

// Repairs of a Service wait for a second, and longer when they are repeated. Without delays, another writer
// that reverted them led to a hundred writes a second.
func TestC5RepairsAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5, func(Key, time.Duration) error { return nil })
		contested := 0
		f.loop.o.Contested = func(Key) { contested++ }
		var at []time.Duration
		// The other writer reacts at once.
		f.loop.o.Sync = func(_ context.Context, key Key) error {
			at = append(at, time.Since(f.begun))
			f.loop.Wrote(key, "update", time.Time{}, nil)
			f.loop.Repair(key, Changed, "")
			return nil
		}
		f.lead(t, []Key{web}, func() {
			time.Sleep(5 * time.Minute)
			synctest.Wait()
		})
		if diff := cmp.Diff(times(0, 1, 3, 7, 15, 31, 63, 123, 183, 243), at); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
		if n := f.lines("Another writer keeps changing"); contested != 1 || n != 1 {
			t.Errorf("reported %d times and logged %d times, want once:\n%s", contested, n, f.log)
		}
	})
}

// Deleted objects of a Service are restored within seconds, whatever other changes there are. A writer that
// kept deleting them left the Service without them for up to a minute each time.
func TestC5DeletedObjectsAreRestoredWithinSeconds(t *testing.T) {
	for name, test := range map[string]struct {
		otherWriter func(l *Loop, syncs int)
		want        []time.Duration
	}{
		"deletes":    {func(l *Loop, _ int) { l.Repair(web, Lost, "") }, times(0, 0, 1, 3, 7, 12, 17, 22, 27)},
		"overwrites": {func(l *Loop, _ int) { l.Repair(web, Changed, "") }, times(0, 1, 3, 7, 15)},
		"overwrites and then deletes": {func(l *Loop, syncs int) {
			l.Repair(web, Changed, "")
			if syncs > 4 {
				l.Repair(web, Lost, "")
			}
		}, times(0, 1, 3, 7, 15, 20, 25, 30)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(5, func(Key, time.Duration) error { return nil })
				var at []time.Duration
				f.loop.o.Sync = func(_ context.Context, key Key) error {
					at = append(at, time.Since(f.begun))
					f.loop.Wrote(key, "create", time.Time{}, nil)
					test.otherWriter(f.loop, len(at))
					return nil
				}
				f.lead(t, []Key{web}, func() {
					time.Sleep(30 * time.Second)
					synctest.Wait()
				})
				if diff := cmp.Diff(test.want, at); diff != "" {
					t.Errorf("syncs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A repair that waits counts as unwritten, and the field manager of the external change is shown (day2 B4).
func TestWaitingRepairsCountAsUnwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5, func(Key, time.Duration) error { return nil })
		syncs := 0
		f.loop.o.Sync = func(_ context.Context, key Key) error {
			f.loop.Wrote(key, "update", time.Time{}, nil)
			if syncs++; syncs == 3 { // at 3 s
				time.Sleep(time.Second)
				f.loop.Repair(key, Changed, "kubectl-edit")
				f.loop.Repair(key, Changed, "")
			} else {
				f.loop.Repair(key, Changed, "kubectl-patch")
			}
			return nil
		}
		f.lead(t, []Key{web}, func() {
			time.Sleep(6 * time.Second)
			synctest.Wait()
			want := Wait{Since: f.begun.Add(4 * time.Second), Until: f.begun.Add(8 * time.Second), By: "kubectl-edit", Repairs: 2}
			if got, waits := f.loop.Waiting(web); !waits || got != want {
				t.Errorf("the Service waits (%t) with %+v, want %+v", waits, got, want)
			}
			if h := f.loop.Health(); h.Waiting != 1 || h.Waits() != 2*time.Second {
				t.Errorf("%d Services wait, for %v, want one for 2s", h.Waiting, h.Waits())
			}
		})
	})
}

// A contested Service is reported between the repairs, too, until nothing was repaired for the calm period. It
// has nothing unwritten then, so it doesn't count as waiting.
func TestContestedServicesAreReportedBetweenRepairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5, func(Key, time.Duration) error { return nil })
		syncs := 0
		f.loop.o.Sync = func(_ context.Context, key Key) error {
			f.loop.Wrote(key, "update", time.Time{}, nil)
			if syncs++; syncs <= contestedAfter {
				f.loop.Repair(key, Changed, "other")
			}
			return nil
		}
		f.lead(t, []Key{web}, func() {
			time.Sleep(calmPeriod) // the last repair was after 31 s
			synctest.Wait()
			want := Wait{Since: f.begun, By: "other", Repairs: contestedAfter, Repaired: f.begun.Add(31 * time.Second)}
			if got, reported := f.loop.Waiting(web); !reported || got != want {
				t.Errorf("reported: %t, %+v, want %+v", reported, got, want)
			}
			if all, n := f.loop.AllWaiting(10); n != 1 || len(all) != 1 || all[0].Wait != want {
				t.Errorf("of %d Services, these are reported: %+v", n, all)
			}
			if h := f.loop.Health(); h.Waiting != 0 || h.Waits() != 0 {
				t.Errorf("%d Services wait, for %v, want none", h.Waiting, h.Waits())
			}
			time.Sleep(time.Minute)
			if got, reported := f.loop.Waiting(web); reported {
				t.Errorf("still reported after the calm period: %+v", got)
			}
		})
	})
}

// Repairs for a slice that another writer keeps taking over slow down, because each repair leaves one slice
// behind.
func TestRepairsOfTakenSlicesSlowDown(t *testing.T) {
	for count, want := range map[int]time.Duration{0: 0, 1: time.Second, takenLimit - 1: lostLimit, takenLimit: repairLimit} {
		if got := delayed(Taken, time.Second, count); got != want {
			t.Errorf("after %d repairs the delay is %v, want %v", count, got, want)
		}
	}
	if got := delayed(Lost, time.Second, takenLimit); got != lostLimit {
		t.Errorf("after %d repairs of deleted slices the delay is %v, want %v", takenLimit, got, lostLimit)
	}
}

// A deleted object is restored at once, and external changes are counted from zero after a calm period. A sync
// that writes because of them is one repair, however much it writes.
func TestC5RareRepairsAreNotDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		var at []time.Duration
		begun, writes, gone := time.Now(), true, false
		var l *Loop
		l = New(Options{
			Name: "test", Workers: 1, RetryFirst: 1, RetryLimit: 1, Metrics: NewMetrics(registry, nil), Logger: slog.New(slog.DiscardHandler),
			Sync: func(_ context.Context, key Key) error {
				at = append(at, time.Since(begun))
				if gone {
					l.Forget(key)
				}
				if writes {
					l.Wrote(key, "update", time.Time{}, nil)
					l.Wrote(key, "update", time.Time{}, nil)
				}
				return nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, func() []Key { return nil })
		}()
		synctest.Wait()
		l.Repair(web, Lost, "") // 0 s, repaired
		time.Sleep(5 * time.Second)
		l.Add(web) // no repair
		time.Sleep(5 * time.Second)
		l.Repair(web, Lost, "") // 11 s, repaired
		time.Sleep(10 * time.Minute)
		l.Repair(web, Changed, "") // 611 s, repaired
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		writes = false
		for range 3 {
			l.Repair(web, Changed, "") // 1211 s, and so on: nothing to do
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		writes = true
		l.Add(web) // no repair
		synctest.Wait()
		gone = true
		l.Repair(web, Changed, "") // 1241 s: the Service is deleted before the write
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff(times(0, 5, 11, 611, 1211, 1221, 1231, 1240, 1241), at); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
		if n := testutil.ToFloat64(l.o.Metrics.repairs.WithLabelValues("test")); n != 3 {
			t.Errorf("%v repairs are counted, want 3", n)
		}
		if n := len(l.term.Load().repairs); n != 0 {
			t.Errorf("the loop remembers %d repairs of a deleted Service", n)
		}
		cancel()
		<-done
	})
}

// 2,000 Services that were created, failed, were repaired and were deleted leave no state.
func TestC6DeletedServicesLeaveNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5, func(key Key, at time.Duration) error {
			if at < 3*time.Second {
				return errInternal
			}
			return nil
		})
		all := services(20, 100)
		f.lead(t, all, func() {
			f.until(t, time.Minute, all)
			for _, key := range all {
				f.loop.Repair(key, Changed, "")
			}
			time.Sleep(time.Minute)
			for _, key := range all {
				f.loop.Forget(key)
			}
			synctest.Wait()
			t0 := f.loop.term.Load()
			for name, n := range map[string]int{
				"repairs": len(t0.repairs), "waiting": len(t0.writes.waiting), "flights": len(t0.flights), "failing": len(t0.breakers.failing),
				"namespaces": len(t0.breakers.of), "held": len(t0.breakers.all.held), "timers": len(t0.timers), "untried": len(t0.breakers.all.untried), "retried": len(t0.breakers.all.retried),
			} {
				if n != 0 {
					t.Errorf("%s has %d entries, want none", name, n)
				}
			}
		})
	})
}

// Workqueue_depth is zero after a term. The items that were queued at its end stayed in the gauge: it showed
// 48, 96 and 144 after three terms.
func TestC7QueueIsEmptyAfterEachTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues := prometheus.NewRegistry()
		l := New(Options{
			Name: "test", Workers: 1, RetryFirst: 1, RetryLimit: 1, Metrics: NewMetrics(queues, queues), Logger: slog.New(slog.DiscardHandler),
			Sync: func(context.Context, Key) error {
				time.Sleep(time.Second)
				return errors.New("connection refused")
			},
		})
		for term := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+500*time.Millisecond)
			l.Run(ctx, func() []Key { return services(1, 50) })
			cancel()
			synctest.Wait()
			for _, name := range []string{"workqueue_depth", "workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds", "controller_oldest_unwritten_seconds"} {
				if got := metrictest.Only(t, queues, name); got != 0 {
					t.Errorf("after term %d, %s is %v", term, name, got)
				}
			}
		}
	})
}

// The gauge of the oldest unwritten change shows how long that change has waited.
func TestC8OldestUnwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		f := newFake(5, failingUntil(time.Hour, errExpired))
		f.loop.o.Metrics = NewMetrics(registry, nil)
		f.loop.o.Metrics.oldest.watch("test", func() time.Duration { return f.loop.Health().Waits() })
		all := services(10, 10)
		f.lead(t, all, func() {
			time.Sleep(30 * time.Minute)
			if got := metrictest.Only(t, registry, "controller_oldest_unwritten_seconds"); got < 1799 || got > 1800 {
				t.Errorf("the oldest change waits for %v s, want 1800", got)
			}
			h := f.loop.Health()
			if !h.AllRefused(2*time.Minute) || h.AllRefused(time.Hour) || h.Waiting != 100 {
				t.Errorf("health is %+v, want all 100 refused", h)
			}
			reasons, since := 0, time.Now()
			for _, key := range all {
				wait, ok := f.loop.Waiting(key)
				if !ok {
					t.Errorf("%s doesn't wait", key)
				}
				if strings.Contains(wait.Reason, errExpired.Error()) {
					reasons++
				}
				since = earlier(since, wait.Since)
			}
			if reasons == 0 || time.Since(since).Round(time.Minute) != 30*time.Minute {
				t.Errorf("%d of the waiting have a reason, since %v", reasons, time.Since(since))
			}
			f.until(t, 2*time.Hour, all)
			synctest.Wait()
			if wait, ok := f.loop.Waiting(all[0]); ok {
				t.Errorf("after it was written it waits: %+v", wait)
			}
			if h := f.loop.Health(); h.AllRefused(0) || h.Waiting != 0 || h.LastWrite.IsZero() {
				t.Errorf("health is %+v, want all written", h)
			}
		})
	})
}

// Refused writes in one namespace don't count as all refused, unless the API server rejects the credentials
// of the process.
func TestC8AllRefused(t *testing.T) {
	now := time.Now()
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	for name, test := range map[string]struct {
		health Health
		want   bool
	}{
		"nothing tried":     {Health{}, false},
		"three namespaces":  {Health{RefusedSince: ago(3), RefusedLast: now, Refused: errForbidden, Namespaces: 3}, true},
		"one namespace":     {Health{RefusedSince: ago(3), RefusedLast: now, Refused: errForbidden, Namespaces: 1}, false},
		"credentials":       {Health{RefusedSince: ago(3), RefusedLast: now, Refused: fmt.Errorf("update: %w", errExpired), Namespaces: 1}, true},
		"not long enough":   {Health{RefusedSince: ago(1), RefusedLast: now, Refused: errExpired, Namespaces: 3}, false},
		"success meanwhile": {Health{LastWrite: ago(1), RefusedSince: ago(3), RefusedLast: now, Refused: errExpired, Namespaces: 3}, false},
		"another controller succeeds": {
			Health{RefusedSince: ago(9), RefusedLast: now, Refused: errForbidden, Namespaces: 3}.Join(Health{LastWrite: ago(1)}), false,
		},
		"all controllers fail": {
			Health{LastWrite: ago(9)}.Join(Health{RefusedSince: ago(3), RefusedLast: now, Refused: errForbidden, Namespaces: 3}), true,
		},
	} {
		if got := test.health.AllRefused(2 * time.Minute); got != test.want {
			t.Errorf("%s: all refused %t, want %t", name, got, test.want)
		}
	}
}
