package writeclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/leader"
)

// writes are the requests that change something.
var writes = map[string]func(context.Context, discoveryclient.EndpointSliceInterface) error{
	"create": func(ctx context.Context, c discoveryclient.EndpointSliceInterface) error {
		_, err := Write(ctx, func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
			return c.Create(ctx, slice("ns"), metav1.CreateOptions{})
		})
		return err
	},
	"update": func(ctx context.Context, c discoveryclient.EndpointSliceInterface) error {
		_, err := Write(ctx, func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
			return c.Update(ctx, slice("ns"), metav1.UpdateOptions{})
		})
		return err
	},
	"delete": func(ctx context.Context, c discoveryclient.EndpointSliceInterface) error {
		return Send(ctx, func(ctx context.Context) error { return c.Delete(ctx, "web", metav1.DeleteOptions{}) })
	},
}

// eachWrite tests all writes with a client that passes its requests to a function.
func eachWrite(t *testing.T, config rest.Config, send roundTripper, test func(t *testing.T, write func(context.Context) error)) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config.Host, config.Transport = "http://api.test", send
				client, err := discoveryclient.NewForConfig(&config)
				if err != nil {
					t.Fatal(err)
				}
				test(t, func(ctx context.Context) error { return write(ctx, Slices(client).EndpointSlices("ns")) })
			})
		})
	}
}

// respondAfter responds to a write after a delay, unless its context ends.
func respondAfter(d time.Duration) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return respond(r, accept), nil
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
}

// A process that is being stopped finishes its writes.
func TestWritesOutliveTheirContext(t *testing.T) {
	eachWrite(t, rest.Config{}, respondAfter(time.Minute), func(t *testing.T, write func(context.Context) error) {
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errors.New("a signal")) })
		if err := write(ctx); err != nil {
			t.Errorf("the write that was under way: %v", err)
		}
		if err := write(ctx); err != nil {
			t.Errorf("the next write of the sync: %v", err)
		}
	})
}

// A write that begins long after the end of a term is not sent. One that began before is finished, and none is
// limited while the term lasts.
func TestWritesBeginWithinTheLimit(t *testing.T) {
	eachWrite(t, rest.Config{}, respondAfter(FinishLimit+FinishLimit/4), func(t *testing.T, write func(context.Context) error) {
		term, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		ctx, done := Finishing(term)
		defer done()
		for _, want := range []error{nil, nil, ErrStopped} {
			if err := write(ctx); !errors.Is(err, want) {
				t.Errorf("a write: %v, want %v", err, want)
			}
			if time.Sleep(FinishLimit / 4); term.Err() == nil {
				stop(errors.New("a signal"))
			}
		}
	})
}

// Writes, and waits for the rate limiter, end when leadership is lost, and when other Services wait.
func TestWritesEndWithLeadership(t *testing.T) {
	for name, test := range map[string]struct {
		config rest.Config
		cause  error
	}{
		"under way":                     {cause: leader.ErrNotLeading},
		"waits for its turn":            {config: rest.Config{QPS: 1e-6, Burst: 1}, cause: leader.ErrNotLeading},
		"under way, yields":             {cause: ErrYield},
		"waits for its turn and yields": {config: rest.Config{QPS: 1e-6, Burst: 1}, cause: ErrYield},
	} {
		t.Run(name, func(t *testing.T) {
			eachWrite(t, test.config, respondAfter(time.Hour), func(t *testing.T, write func(context.Context) error) {
				ctx, stop := context.WithCancelCause(t.Context())
				go func() { _ = write(ctx) }()
				synctest.Wait()
				time.AfterFunc(time.Second, func() { stop(test.cause) })
				began := time.Now()
				if err := write(ctx); err == nil {
					t.Error("the write has succeeded")
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("the write ended after %v, want a second, when %v", took, test.cause)
				}
			})
		})
	}
}

// A write is sent once. The loops of the controllers retry it, and client-go doesn't, because it would block
// a worker for as long as Retry-After says.
func TestWritesAreSentOnce(t *testing.T) {
	requests := 0
	busy := func(r *http.Request) (*http.Response, error) {
		requests++
		return respond(r, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		}), nil
	}
	eachWrite(t, rest.Config{}, busy, func(t *testing.T, write func(context.Context) error) {
		requests = 0
		began := time.Now()
		err := write(t.Context())
		if seconds, _ := apierrors.SuggestsClientDelay(err); seconds != 30 || requests != 1 || time.Since(began) != 0 {
			t.Errorf("%d requests in %v ended with %v, which asks for %d s", requests, time.Since(began), err, seconds)
		}
	})
}

func accept(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"uid":"u","resourceVersion":"1"}}`)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond returns the response of a handler.
func respond(r *http.Request, handler http.HandlerFunc) *http.Response {
	answer := httptest.NewRecorder()
	handler(answer, r)
	return answer.Result()
}
