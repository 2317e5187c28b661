package source_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// table is a table that a test fills.
type table struct {
	kube.AnyTable
	filled atomic.Bool
}

func (t *table) Filled() bool             { return t.filled.Load() }
func (t *table) Status() kube.TableStatus { return kube.TableStatus{Kind: "thing"} }

// TestWaiting shows that an object waits for the tables that it refers to, and is evaluated when they are
// filled (W12).
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changed []source.Key
		w := source.NewWaiting(func(k source.Key) { changed = append(changed, k) })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		expect := func(want ...source.Key) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if !slices.Equal(changed, want) {
				t.Errorf("evaluated again are %v, want %v", changed, want)
			}
			changed = nil
		}
		one, two := &table{}, &table{}
		a, b := source.Key{Namespace: "x", Name: "a"}, source.Key{Name: "b"}
		err := w.For(a, one, two)
		var later interface{ Pending() bool }
		if !errors.As(err, &later) || !later.Pending() || err.Error() != "wait for the first list of the kind thing" {
			t.Errorf("the error is %v", err)
		}
		for range 2 {
			if w.For(b, two) == nil {
				t.Error("b doesn't wait")
			}
		}
		if err := w.For(b); err != nil {
			t.Errorf("b waits without a table: %v", err)
		}
		expect()
		one.filled.Store(true)
		expect()
		two.filled.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		slices.SortFunc(changed, func(a, b source.Key) int { return len(b.Namespace) - len(a.Namespace) })
		expect(a, b)
		if err := w.For(a, one, two); err != nil {
			t.Errorf("all is filled, and a waits: %v", err)
		}
		expect()
		cancel()
		running.Wait()
	})
}
