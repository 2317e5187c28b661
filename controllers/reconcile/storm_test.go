package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/signpostd/signpost/controllers/writeclient"
)

// fake is an API server to which each sync makes one request.
type fake struct {
	loop *Loop
	// result returns the error of a request, nil for success.
	result func(key Key, at time.Duration) error
	// duration returns the time that a request takes; nil stands for 5 ms.
	duration func(key Key) time.Duration
	log      *bytes.Buffer

	mu    sync.Mutex
	begun time.Time
	// requests has the number of requests in each second, and written the time of the last successful write
	// of each Service.
	requests map[int]int
	written  map[Key]time.Duration
	attempts map[Key]int
}

// failingUntil returns results that are an error until a time, and then successes.
func failingUntil(end time.Duration, err error) func(Key, time.Duration) error {
	return func(_ Key, at time.Duration) error {
		if at < end {
			return err
		}
		return nil
	}
}

func newFake(workers int, result func(key Key, at time.Duration) error) *fake {
	f := &fake{
		result: result, log: &bytes.Buffer{}, begun: time.Now(),
		requests: map[int]int{}, written: map[Key]time.Duration{}, attempts: map[Key]int{},
	}
	f.loop = New(Options{
		Name: "test", Workers: workers, RetryFirst: 5 * time.Millisecond, RetryLimit: 1000 * time.Second, Sync: f.sync,
		Logger: slog.New(slog.NewTextHandler(f.log, nil)),
	})
	return f
}

func (f *fake) sync(ctx context.Context, key Key) error {
	at := time.Since(f.begun)
	f.mu.Lock()
	f.requests[int(at/time.Second)]++
	f.attempts[key]++
	f.mu.Unlock()
	duration := 5 * time.Millisecond
	if f.duration != nil {
		duration = f.duration(key)
	}
	write, done := writeclient.Detach(ctx)
	defer done()
	var err error
	select {
	case <-write.Done():
		err = context.Cause(write)
	case <-time.After(duration):
		err = f.result(key, at)
	}
	f.loop.Wrote(key, "update", time.Time{}, err)
	if err == nil {
		f.mu.Lock()
		f.written[key] = time.Since(f.begun)
		f.mu.Unlock()
	}
	return err
}

// lead runs a term while do runs.
func (f *fake) lead(t *testing.T, all []Key, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.loop.Run(ctx, func() []Key { return all })
	}()
	do()
	cancel()
	<-done
}

// until waits until all Services have been written, and returns the time since the start.
func (f *fake) until(t *testing.T, limit time.Duration, all []Key) time.Duration {
	t.Helper()
	for time.Since(f.begun) < limit {
		time.Sleep(10 * time.Millisecond)
		f.mu.Lock()
		n := len(f.written)
		f.mu.Unlock()
		if n >= len(all) {
			return time.Since(f.begun)
		}
	}
	t.Errorf("%d of %d Services have been written within %v", len(f.written), len(all), limit)
	return limit
}

// lines returns the lines of the log that contain a text.
func (f *fake) lines(text string) int { return strings.Count(f.log.String(), text) }

// services returns each Services in each of some namespaces.
func services(namespaces, each int) []Key {
	var all []Key
	for i := range each {
		for ns := range namespaces {
			all = append(all, Key{Namespace: fmt.Sprint("ns-", ns), Name: fmt.Sprint(i)})
		}
	}
	return all
}

var (
	errInternal  = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	errForbidden = apierrors.NewForbidden(corev1.Resource("endpoints"), "web", errors.New("denied by the policy"))
	errExpired   = apierrors.NewUnauthorized("token is expired")
	errInvalid   = apierrors.NewInvalid(schema.GroupKind{Kind: "Endpoints"}, "web", field.ErrorList{field.Required(field.NewPath("subsets[0]"), "no address")})
	// The default denials of a ValidatingAdmissionPolicy and of a webhook.
	errPolicy = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{Name: "web", Kind: "endpoints", Causes: []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"}}},
	}}
	errWebhook = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: `admission webhook "w" denied the request: no`}}
)

// An overloaded API server gets few requests. With 429 and Retry-After: 1, 10,000 Services sent 3,000 to
// 5,500 requests a second for as long as the overload lasted.
func TestC3OverloadedAPIServerGetsFewRequests(t *testing.T) {
	for name, all := range map[string][]Key{"one namespace": services(1, 10000), "many": services(1000, 10)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lasts = 40 * time.Second
				f := newFake(5, failingUntil(lasts, apierrors.NewTooManyRequests("overloaded", 1)))
				f.lead(t, all, func() {
					written := f.until(t, lasts+30*time.Second, all)
					t.Logf("all were written %v after the API server recovered", written-lasts)
				})
				for second := range 40 {
					if n, limit := f.requests[second], 3; n > limit && second > 0 || n > 20 {
						t.Errorf("there were %d requests in second %d, want %d at most", n, second, limit)
					}
				}
				if warnings, ends := f.lines("level=WARN"), f.lines("Writes succeed again"); warnings > 10 || ends != 1 {
					t.Errorf("the log has %d warnings and %d lines about a closed breaker:\n%s", warnings, ends, f.log)
				}
			})
		})
	}
}

// After a failing start the writes soon run in parallel again. After two seconds of 500s, as when etcd fails,
// 5,000 Services were written one after the other at ten a second.
func TestC4WritesCatchUpAfterFailingStart(t *testing.T) {
	for name, failure := range map[string]error{"500": errInternal, "403": errForbidden, "401": errExpired} {
		for spread, all := range map[string][]Key{"one namespace": services(1, 5000), "many": services(500, 10)} {
			t.Run(name+" "+spread, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const recovery = 2 * time.Second
					f := newFake(5, failingUntil(recovery, failure))
					f.lead(t, all, func() {
						// 5 ms for each of 5,000 writes by 5 workers are 5 s.
						if at := f.until(t, time.Minute, all); at > recovery+5*time.Second+probeLimit {
							t.Errorf("all were written %v after the API server recovered", at-recovery)
						}
					})
					if n := f.lines("level=WARN"); n > 10 {
						t.Errorf("the log has %d warnings:\n%s", n, f.log)
					}
				})
			})
		}
	}
}

// After hours of refused writes, no Service waits for long.
func TestS1LongOutage(t *testing.T) {
	for name, failure := range map[string]error{"500": errInternal, "no connection": errors.New("connection refused"), "401": errExpired} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const recovery = 3 * time.Hour
				all := services(5, 1)
				f := newFake(5, failingUntil(recovery, failure))
				f.lead(t, all, func() {
					if at := f.until(t, recovery+time.Minute, all); at > recovery+2*probeLimit {
						t.Errorf("all were written %v after the API server recovered", at-recovery)
					}
				})
			})
		})
	}
}

// After an admission policy or webhook has denied the writes of a namespace for half an hour, all are soon made.
// Services used to wait for up to 1,000 seconds.
func TestWritesCatchUpAfterDenials(t *testing.T) {
	all := services(1, 500)
	for name, failure := range map[string]error{"403": errForbidden, "422 by a policy": errPolicy, "400 by a webhook": errWebhook} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const fixed = 30 * time.Minute
				f := newFake(5, failingUntil(fixed, failure))
				f.lead(t, all, func() {
					if at := f.until(t, fixed+time.Hour, all); at > fixed+2*probeLimit {
						t.Errorf("all were written %v after the policy was fixed", at-fixed)
					}
				})
			})
		})
	}
}

// Objects that the API server always refuses don't delay the Services of other namespaces.
func TestS1RejectedObjectsDelayNoOthers(t *testing.T) {
	good := services(1, 1000)
	for name, failure := range map[string]error{
		"500": errInternal, "403": errForbidden, "422": errInvalid, "422 by a policy": errPolicy, "400 by a webhook": errWebhook, "429": apierrors.NewTooManyRequests("by a webhook", 5), "503": apierrors.NewServiceUnavailable("by a webhook"),
	} {
		for _, poisoned := range []int{1, 2, 100} {
			t.Run(fmt.Sprint(name, " ", poisoned), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFake(5, func(key Key, _ time.Duration) error {
						if strings.HasPrefix(key.Namespace, "bad") {
							return failure
						}
						return nil
					})
					var all []Key
					for i := range poisoned {
						all = append(all, Key{Namespace: "bad", Name: fmt.Sprint(i)})
					}
					f.lead(t, append(all, good...), func() {
						// 1,000 writes by 5 workers at 5 ms are 1 s.
						if at := f.until(t, time.Minute, good); at > 2*time.Second {
							t.Errorf("the good Services were written after %v, want about 1s", at)
						}
						f.slowest(t, 100*time.Millisecond)
					})
				})
			})
		}
	}
}

// slowest changes a good Service every two seconds for half an hour, and fails the test if one of them is
// written later than the limit.
func (f *fake) slowest(t *testing.T, limit time.Duration) {
	t.Helper()
	late := 0
	for i := range 1000 {
		time.Sleep(1793 * time.Millisecond)
		key := Key{Namespace: "ns-0", Name: fmt.Sprint(i % 1000)}
		f.mu.Lock()
		delete(f.written, key)
		f.mu.Unlock()
		changed := time.Since(f.begun)
		f.loop.Add(key)
		time.Sleep(limit)
		f.mu.Lock()
		if at, ok := f.written[key]; !ok || at-changed > limit {
			late++
		}
		f.mu.Unlock()
	}
	if late > 0 {
		t.Errorf("%d of 1000 good Services were not written within %v", late, limit)
	}
}

// If requests hang for some objects, as with a webhook that doesn't respond, other Services wait at most for
// a free worker.
func TestS1HangingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5, func(key Key, _ time.Duration) error {
			if key.Namespace == "bad" {
				return context.DeadlineExceeded
			}
			return nil
		})
		f.duration = func(key Key) time.Duration {
			if key.Namespace == "bad" {
				return 10 * time.Second
			}
			return 5 * time.Millisecond
		}
		var all []Key
		for i := range 100 {
			all = append(all, Key{Namespace: "bad", Name: fmt.Sprint(i)})
		}
		f.lead(t, append(all, services(1, 100)...), func() {
			time.Sleep(time.Minute)
			f.slowest(t, 100*time.Millisecond)
		})
	})
}

// In a namespace whose policy refuses most objects, the others are written.
func TestS1MixedNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5, func(key Key, _ time.Duration) error {
			if strings.HasPrefix(key.Name, "bad") {
				return errForbidden
			}
			return nil
		})
		all := services(1, 1000)
		for i := range 100 {
			all = append(all, Key{Namespace: "ns-0", Name: fmt.Sprint("bad-", i)})
		}
		f.lead(t, all, func() {
			time.Sleep(time.Minute)
			before := len(f.written)
			// The probe before it may be a bad Service, more than once.
			f.slowest(t, time.Second)
			if before < 1000 {
				t.Errorf("%d of 1000 good Services were written", before)
			}
		})
		for second, n := range f.requests {
			if second > 600 && n > 20 {
				t.Errorf("there were %d requests in second %d", n, second)
			}
		}
		if n := f.lines("level=WARN"); n > 400 {
			t.Errorf("the log has %d warnings in half an hour", n)
		}
	})
}
