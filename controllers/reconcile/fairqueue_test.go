package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A namespace with thousands of changed Services, or with syncs that take long, holds up no Service of another
// one for longer than a short sync.
func TestBusyNamespaceDelaysNoOthers(t *testing.T) {
	for _, test := range []struct {
		name     string
		services int
		took     time.Duration
		most     time.Duration
	}{
		{"many Services", 10_000, 5 * time.Millisecond, 10 * time.Millisecond},
		{"slow syncs", 50, time.Minute, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var waited []time.Duration
				var added time.Time
				busy := 0
				l := New(Options{
					Name: "test", Workers: 5, RetryFirst: time.Second, RetryLimit: time.Second, Logger: slog.New(slog.DiscardHandler),
					Sync: func(_ context.Context, key Key) error {
						mu.Lock()
						if key.Namespace == "quiet" {
							waited = append(waited, time.Since(added))
							mu.Unlock()
							return nil
						}
						busy++
						mu.Unlock()
						time.Sleep(test.took)
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
				for i := range test.services {
					l.Add(Key{Namespace: "busy", Name: fmt.Sprint(i)})
				}
				synctest.Wait()
				added = time.Now()
				l.Add(Key{Namespace: "quiet", Name: "web"})
				time.Sleep(time.Hour)
				cancel()
				<-done
				if len(waited) != 1 || waited[0] > test.most {
					t.Errorf("the Service of the quiet namespace was synced after %v, want once, after at most %v", waited, test.most)
				}
				if busy != test.services {
					t.Errorf("%d Services of the busy namespace were synced, want %d", busy, test.services)
				}
			})
		})
	}
}

// The namespaces take turns, and the Services of a namespace keep their order.
func TestFairQueue(t *testing.T) {
	q := newFairQueue()
	push := func(keys ...string) {
		for _, k := range keys {
			q.Push(Key{Namespace: k[:1], Name: k[1:]})
		}
	}
	var got []string
	pop := func(n int) {
		for range n {
			k := q.Pop()
			got = append(got, k.Namespace+k.Name)
		}
	}
	push("a1", "a2", "a3", "b1", "c1", "b2")
	pop(2)
	push("d1", "a4")
	pop(6)
	if want := []string{"a1", "b1", "c1", "a2", "b2", "d1", "a3", "a4"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	if q.Len() != 0 || len(q.waiting) != 0 || len(q.turns) != 0 {
		t.Errorf("the queue keeps %d Services, %v and %v", q.Len(), q.waiting, q.turns)
	}
}
