package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// syncs records when each Service was synced, and makes syncs fail.
type syncs struct {
	mu    sync.Mutex
	begun time.Time
	at    map[string][]time.Duration
	fail  func(name string, nth int) error
	// loop, if not nil, gets a call of Wrote for each sync.
	loop *Loop
}

func (s *syncs) sync(_ context.Context, key Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[key.Name] = append(s.at[key.Name], time.Since(s.begun))
	var err error
	if s.fail != nil {
		err = s.fail(key.Name, len(s.at[key.Name]))
	}
	if s.loop != nil {
		s.loop.Wrote(key, "update", time.Time{}, err)
	}
	return err
}

// term runs a loop for the duration lasts and calls do meanwhile.
func (s *syncs) term(t *testing.T, o Options, lasts time.Duration, all []Key, do func(*Loop)) {
	t.Helper()
	s.begun, s.at = time.Now(), map[string][]time.Duration{}
	o.Name, o.Sync, o.Logger = "test", s.sync, slog.New(slog.DiscardHandler)
	o.Workers = max(o.Workers, 1)
	if o.RetryFirst == 0 {
		o.RetryFirst, o.RetryLimit = time.Second, 1000*time.Second
	}
	l := New(o)
	s.loop = l
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx, func() []Key { return all })
	}()
	synctest.Wait()
	if do != nil {
		do(l)
	}
	time.Sleep(lasts - time.Since(s.begun))
	cancel()
	<-done
}

func times(seconds ...float64) []time.Duration {
	list := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		list[i] = time.Duration(s * float64(time.Second))
	}
	return list
}

// Changes within a batch period are synced together, at the time that the first of them fixes. Changes of
// Services don't wait (EP-77, EP-78, EP-79, ES-16).
func TestBatching(t *testing.T) {
	for _, test := range []struct {
		name    string
		batch   time.Duration
		changes []time.Duration
		want    []time.Duration
	}{
		{"a: no batch", 0, times(0.2, 0.3, 0.4), times(0.2, 0.3, 0.4)},
		{"b: one batch", time.Second, times(0.2, 0.3, 0.4), times(1.2)},
		{"c: two batches", time.Second, times(0.2, 0.3, 1.4), times(1.2, 2.4)},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s syncs
				s.term(t, Options{BatchPeriod: test.batch}, 5*time.Second, nil, func(l *Loop) {
					for _, at := range test.changes {
						time.Sleep(at - time.Since(s.begun))
						l.AddBatched("ns", "web")
						synctest.Wait()
					}
				})
				if diff := cmp.Diff(test.want, s.at["web"]); diff != "" {
					t.Errorf("syncs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Changes that affect all Services of a namespace are synced together, and what is pending at the
// end of a term isn't read.
func TestBusyWorkloadsOfManyServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s syncs
		read := 0
		o := Options{ServicesIn: func(string) []string {
			read++
			return []string{"web", "db"}
		}}
		s.term(t, o, 2*time.Second, nil, func(l *Loop) {
			for range 4 {
				for range 100 {
					l.AddNamespace("ns")
				}
				time.Sleep(spreadPeriod / 5 * 2)
			}
			time.Sleep(2*time.Second - 2*spreadPeriod)
			l.AddNamespace("ns")
		})
		want := []time.Duration{spreadPeriod, spreadPeriod / 5 * 11}
		if diff := cmp.Diff(map[string][]time.Duration{"web": want, "db": want}, s.at); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
		if read != 2 {
			t.Errorf("the Services of the namespace were read %d times, want 2", read)
		}
	})
}

// A Service that changes while it is synced is synced once more afterwards, whatever the number of changes,
// because the sync may have read the objects before.
func TestChangesDuringASync(t *testing.T) {
	for name, change := range map[string]func(*Loop){
		"of a Service": func(l *Loop) { l.Add(web) },
		"of a pod":     func(l *Loop) { l.AddBatched(web.Namespace, web.Name) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := syncs{fail: func(string, int) error {
					time.Sleep(time.Second)
					return nil
				}}
				s.term(t, Options{BatchPeriod: 100 * time.Millisecond}, 5*time.Second, []Key{web}, func(l *Loop) {
					for range 2 {
						time.Sleep(300 * time.Millisecond)
						change(l)
					}
				})
				if diff := cmp.Diff(times(0, 1), s.at["web"]); diff != "" {
					t.Errorf("syncs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestServiceChangesDontWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s syncs
		s.term(t, Options{BatchPeriod: time.Second}, 5*time.Second, nil, func(l *Loop) { l.Add(web) })
		if diff := cmp.Diff(times(0), s.at["web"]); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
	})
}

// A failed sync is retried after growing delays, without end (spec/endpoints.md §7).
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := syncs{fail: func(string, int) error { return Refuse(errors.New("no")) }}
		r := prometheus.NewRegistry()
		s.term(t, Options{Metrics: NewMetrics(r, r)}, 10000*time.Second, []Key{web}, nil)
		want := times(0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2023, 3023, 4023, 5023, 6023, 7023, 8023, 9023)
		if diff := cmp.Diff(want, s.at["web"]); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
		if n, err := testutil.GatherAndCount(r, "controller_persistent_failures_total"); n != 1 || err != nil {
			t.Errorf("a Service that keeps failing is not counted: %d series, %v", n, err)
		}
	})
}

// A Service whose sync panics is retried like a refused one and counted. Other Services are not delayed.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := syncs{fail: func(name string, _ int) error {
			if name == "bad" {
				panic("on purpose")
			}
			return nil
		}}
		r := prometheus.NewRegistry()
		bad := Key{Namespace: "ns", Name: "bad"}
		s.term(t, Options{Metrics: NewMetrics(r, r)}, 10*time.Second, []Key{bad}, func(l *Loop) {
			time.Sleep(5 * time.Second)
			l.Add(web)
		})
		if diff := cmp.Diff(map[string][]time.Duration{"bad": times(0, 1, 3, 7), "web": times(5)}, s.at); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
		want := "# HELP controller_panics_total Syncs that panicked because of a bug. They are retried. The log has the stack.\n" +
			"# TYPE controller_panics_total counter\ncontroller_panics_total{controller=\"test\"} 4\n"
		if err := testutil.GatherAndCompare(r, strings.NewReader(want), "controller_panics_total"); err != nil {
			t.Error(err)
		}
	})
}

// A Service that keeps failing doesn't delay others.
func TestFailuresDelayNoOtherService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := syncs{fail: func(name string, _ int) error {
			if name == "web" {
				return nil
			}
			return Refuse(errors.New("no"))
		}}
		var all []Key
		for i := range 1000 {
			all = append(all, Key{Namespace: "ns", Name: fmt.Sprint(i)})
		}
		s.term(t, Options{}, 60*time.Second, all, func(l *Loop) {
			time.Sleep(30 * time.Second)
			l.Add(web)
		})
		if diff := cmp.Diff(times(30), s.at["web"]); diff != "" {
			t.Errorf("syncs of the good Service (-want +got):\n%s", diff)
		}
	})
}

// Within seconds after an outage of the API server, all Services are retried, whatever their number and the
// length of the outage.
func TestUnreachableAPIServer(t *testing.T) {
	const recovery, within = 300 * time.Second, probeLimit + time.Second
	for name, failure := range map[string]error{
		"no connection":  errors.New("dial tcp: connection refused"),
		"unavailable":    apierrors.NewServiceUnavailable("starting"),
		"too many":       apierrors.NewTooManyRequests("later", 1),
		"wrapped errors": fmt.Errorf("create: %w", apierrors.NewTimeoutError("slow", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s syncs
				s.fail = func(string, int) error {
					if time.Since(s.begun) < recovery {
						return failure
					}
					return nil
				}
				var all []Key
				for i := range 500 {
					all = append(all, Key{Namespace: "ns", Name: fmt.Sprint(i)})
				}
				s.term(t, Options{Workers: 5}, recovery+10*time.Second, all, nil)
				for name, at := range s.at {
					if last := at[len(at)-1]; last < recovery || last > recovery+within {
						t.Errorf("Service %s was synced at %v, want within %v of %v", name, last, within, recovery)
					}
				}
			})
		})
	}
}

// Changes between terms are ignored, and a term starts with all Services.
func TestTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s syncs
		l := New(Options{Name: "test", Sync: s.sync, Workers: 1, RetryFirst: 1, RetryLimit: 1})
		l.Add(web)
		l.AddBatched("ns", "web")
		if l.Running() {
			t.Error("the loop runs before its term")
		}
		s.term(t, Options{}, time.Second, []Key{web, {Namespace: "ns", Name: "db"}}, func(l *Loop) {
			if !l.Running() {
				t.Error("the loop doesn't run in its term")
			}
		})
		if diff := cmp.Diff(map[string][]time.Duration{"web": times(0), "db": times(0)}, s.at); diff != "" {
			t.Errorf("syncs (-want +got):\n%s", diff)
		}
	})
}

// At the end of a term, the contexts of the syncs under way end, the loop waits for these syncs, and no other
// starts.
func TestEndOfTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		lost := errors.New("the lease is lost")
		began, cancelled, ended := time.Now(), time.Duration(0), 0
		l := New(Options{Name: "test", Workers: 1, RetryFirst: 1, RetryLimit: 1, Sync: func(ctx context.Context, _ Key) error {
			<-ctx.Done()
			cancelled = time.Since(began)
			if cause := context.Cause(ctx); !errors.Is(cause, lost) {
				t.Errorf("the context of the sync ended because of %v", cause)
			}
			time.Sleep(2 * time.Second)
			ended++
			return nil
		}})
		time.AfterFunc(time.Second, func() { cancel(lost) })
		l.Run(ctx, func() []Key { return []Key{web, {Namespace: "ns", Name: "db"}} })
		if ended != 1 || cancelled != time.Second || time.Since(began) != 3*time.Second {
			t.Errorf("%d syncs were cancelled after %v and ended after %v, want the one under way, after 1s and 3s", ended, cancelled, time.Since(began))
		}
	})
}

func TestClassifyErrors(t *testing.T) {
	notFound := apierrors.NewNotFound(corev1.Resource("endpoints"), "web")
	conflict := apierrors.NewConflict(corev1.Resource("endpoints"), "web", errors.New("changed"))
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}},
	}}}
	for _, test := range []struct {
		name                                      string
		err                                       error
		conflict, refused, terminating, uncertain bool
	}{
		{"none", nil, false, false, false, false},
		{"conflict", fmt.Errorf("update: %w", conflict), true, false, false, false},
		{"exists already", apierrors.NewAlreadyExists(corev1.Resource("endpoints"), "web"), true, false, false, false},
		{"invalid", apierrors.NewBadRequest("no"), false, true, false, false},
		{"not found", notFound, false, true, false, false},
		{"not found by a proxy", apierrors.NewGenericServerResponse(404, "get", corev1.Resource("endpoints"), "web", "404 page not found", 0, true), false, false, false, false},
		{"AD-13: namespace terminating", fmt.Errorf("create: %w", terminating), false, true, true, false},
		{"AD-13: other forbidden", apierrors.NewForbidden(corev1.Resource("endpoints"), "web", errors.New("no")), false, true, false, false},
		{"connection", errors.New("refused"), false, false, false, true},
		{"unavailable", apierrors.NewServiceUnavailable("no"), false, false, false, true},
		{"timeout", apierrors.NewTimeoutError("slow", 1), false, false, false, true},
		{"too many requests", apierrors.NewTooManyRequestsError("later"), false, false, false, false},
		{"not connected", fmt.Errorf("update: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), false, false, false, false},
		{"connection reset", fmt.Errorf("update: %w", &net.OpError{Op: "read", Err: errors.New("reset")}), false, false, false, true},
		{"own refusal", Refuse(errors.New("no")), false, true, false, true},
		{"own refusal of nothing", Refuse(nil), false, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := IsConflict(test.err); got != test.conflict {
				t.Errorf("conflict: %t, want %t", got, test.conflict)
			}
			if got := IsRefused(test.err); got != test.refused {
				t.Errorf("refused: %t, want %t", got, test.refused)
			}
			if got := IsNamespaceTerminating(test.err); got != test.terminating {
				t.Errorf("namespace terminating: %t, want %t", got, test.terminating)
			}
			if got := MayHaveSucceeded(test.err); got != test.uncertain {
				t.Errorf("may have succeeded: %t, want %t", got, test.uncertain)
			}
		})
	}
}

// The loop waits for the delay in Retry-After (RFC 9110 §10.2.3), up to a limit.
func TestRetryAfter(t *testing.T) {
	for seconds, want := range map[int][]time.Duration{
		0: times(0, 0.1, 0.3, 0.7, 1.5, 3.1), 2: times(0, 2, 4), 3600: times(0),
	} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := syncs{fail: func(string, int) error {
					return fmt.Errorf("create slice: %w", apierrors.NewTooManyRequests("busy", seconds))
				}}
				s.term(t, Options{}, 5*time.Second, []Key{web}, nil)
				if diff := cmp.Diff(want, s.at["web"]); diff != "" {
					t.Errorf("syncs (-want +got):\n%s", diff)
				}
			})
		})
	}
}
