package reconcile

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Namespaces with thousands of changed Services, with syncs that take long, or whose writes time
// out, hold up no Service of another one. Two namespaces with slow syncs took all workers, for as
// long as they had changes.
func TestBusyNamespacesDelayNoOthers(t *testing.T) {
	for _, test := range []struct {
		name                 string
		namespaces, services int
		took                 time.Duration
		err                  error
		most                 time.Duration
	}{
		{"many Services", 1, 2000, 5 * time.Millisecond, nil, 10 * time.Millisecond},
		{"a slow namespace", 1, 50, time.Minute, nil, slowAfter},
		{"slow namespaces", 12, 10, 10 * time.Second, nil, time.Second},
		{"timeouts", 12, 10, 10 * time.Second, context.DeadlineExceeded, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(5, func(key Key, _ time.Duration) error {
					if key.Namespace == "quiet" {
						return nil
					}
					return test.err
				})
				f.duration = func(key Key) time.Duration {
					if key.Namespace == "quiet" {
						return 0
					}
					return test.took
				}
				busy := services(test.namespaces, test.services)
				f.lead(t, nil, func() {
					synctest.Wait()
					for i := range 100 {
						if i%10 == 0 {
							for _, key := range busy {
								f.loop.Add(key)
							}
						}
						synctest.Wait()
						changed, key := time.Since(f.begun), Key{Namespace: "quiet", Name: fmt.Sprint(i)}
						f.loop.Add(key)
						time.Sleep(1700 * time.Millisecond)
						f.mu.Lock()
						if at, ok := f.written[key]; !ok || at-changed > test.most {
							t.Errorf("the change of a quiet namespace at %v was written at %v, want %v later at most", changed, at, test.most)
						}
						f.mu.Unlock()
					}
					time.Sleep(2 * time.Hour)
				})
				for _, key := range busy {
					if f.attempts[key] == 0 {
						t.Fatalf("Service %v was never synced", key)
					}
				}
			})
		})
	}
}

// Of hundreds of namespaces whose requests hang, only as many take a worker's time as there are places. The
// requests of the others are cancelled, as no failure, and sent again one after the other.
func TestManySlowNamespacesDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, namespaces = 5, 200
		f := newFake(workers, func(Key, time.Duration) error { return nil })
		quiet := Key{Namespace: "quiet", Name: "web"}
		f.duration = func(key Key) time.Duration {
			if key == quiet {
				return 5 * time.Millisecond
			}
			return time.Hour
		}
		slow := services(namespaces, 3)
		f.lead(t, append(slices.Clone(slow), quiet), func() {
			time.Sleep(time.Hour - time.Minute)
			synctest.Wait()
			f.mu.Lock()
			at, ok := f.written[quiet]
			attempts := 0
			for _, n := range f.attempts {
				attempts += n
			}
			f.mu.Unlock()
			// The first namespaces get all places after slowAfter each, the others yield after stuckAfter each.
			most := slowPlaces*slowAfter + namespaces/workers*stuckAfter
			if !ok || at > most {
				t.Errorf("the Service of the quiet namespace was written at %v, want %v at most", at, most)
			}
			// Each slow namespace has sent a request once, the last ones perhaps one for a second Service at the
			// same time. None has sent one again without a place.
			if most := namespaces + 1 + workers; attempts > most {
				t.Errorf("%d requests, want %d at most", attempts, most)
			}
			if health := f.loop.Health(); health.Refused != nil || health.Waiting < len(slow)-slowPlaces*workers {
				t.Errorf("%d Services wait, and writes are refused with %v: want all without a place, and no refusal", health.Waiting, health.Refused)
			}
			if wait, waits := f.loop.Waiting(slow[len(slow)-1]); !waits || wait.Reason != errSlow.Error() {
				t.Errorf("a Service that has not begun waits: %v, because %q", waits, wait.Reason)
			}
			if n := f.lines("level=WARN"); n != 0 {
				t.Errorf("%d warnings about cancelled requests", n)
			}
			time.Sleep(240 * time.Hour)
		})
		for _, key := range slow {
			if f.written[key] == 0 {
				t.Fatalf("Service %v was never written", key)
			}
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
