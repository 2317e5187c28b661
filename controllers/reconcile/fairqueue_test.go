package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A namespace with thousands of changed Services holds up no Service of another one for longer than a sync.
func TestBusyNamespaceDelaysNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 5 * time.Millisecond
		var l *Loop
		var waited time.Duration
		quiet := Key{Namespace: "quiet", Name: "web"}
		added := time.Now()
		l = New(Options{
			Name: "test", Workers: 5, RetryFirst: time.Second, RetryLimit: time.Second, Logger: slog.New(slog.DiscardHandler),
			Sync: func(_ context.Context, key Key) error {
				if key == quiet {
					waited = time.Since(added)
				}
				time.Sleep(took)
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
		for i := range 10_000 {
			l.Add(Key{Namespace: "busy", Name: fmt.Sprint(i)})
		}
		l.Add(quiet)
		time.Sleep(time.Minute)
		cancel()
		<-done
		if waited == 0 || waited > 2*took {
			t.Errorf("the Service of the quiet namespace was synced after %v, want at most %v", waited, 2*took)
		}
	})
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
