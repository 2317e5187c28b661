package kube

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// flood is a watch whose events come as fast as they are decoded.
type flood struct{}

func (flood) Decode() (watch.EventType, runtime.Object, error) {
	return watch.Modified, &metav1.PartialObjectMetadata{}, nil
}

func (flood) Close() {}

// roundTrip is an HTTP transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server of others that floods its watches, or sends listing after listing, is read slowly once it has sent
// more than two listings of the largest size. It could use all CPUs otherwise.
func TestFloodOfAnUntrustedServerIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const second = 2 * responseCost
		limits := UntrustedLimits{ListBytes: 5 * responseCost, BytesPerSecond: second}.withDefaults()
		slowed := 0
		limits.pace.slowed = func() { slowed++ }
		ctx, cancel := context.WithCancel(t.Context())
		g := &guarded{
			Decoder: flood{}, ctx: ctx, meter: &meter{untrusted: limits}, failed: func(error) {},
			filled: func() bool { return true }, held: func() int { return 1 },
		}
		takes := func(what string, want time.Duration, do func()) {
			t.Helper()
			begun := time.Now()
			do()
			if took := time.Since(begun).Round(time.Millisecond); took != want {
				t.Errorf("%s takes %s, want %s", what, took, want)
			}
		}
		events := func(n int) func() {
			return func() {
				t.Helper()
				for range n {
					if _, _, err := g.Decode(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		const eventsPerSecond = second / leastCost
		takes("the first events", 0, events(5*eventsPerSecond))
		takes("more events", 10*time.Second, events(10*eventsPerSecond))

		var size int64
		server := &limiter{untrusted: limits, next: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(endless{}, size))}, nil
		})}
		respond := func(query string) {
			t.Helper()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://192.0.2.1/api/v1/services"+query, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, response.Body); err != nil || n != size {
				t.Errorf("%d bytes of the response, %v", n, err)
			}
		}
		size = 2*second - responseCost
		takes("a response", 2*time.Second, func() { respond("") })
		size = 0
		takes("endless empty pages", 10*time.Second, func() {
			for range 20 {
				respond("?continue=more")
			}
		})
		takes("watches that end at once", 10*time.Second, func() {
			for range 20 {
				respond("?watch=1")
			}
		})
		cancel()
		takes("an event after the end", 0, func() {
			if _, _, err := g.Decode(); err == nil {
				t.Error("there is no error after the end of the context")
			}
		})
		if slowed != 1 {
			t.Errorf("it was reported %d times that responses wait, want once", slowed)
		}
	})
}
