package publishertest

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// Counter counts requests.
type Counter struct {
	// Operation returns the name of a request's operation. Writes are the operations that change records.
	Operation func(*http.Request) string
	Writes    map[string]bool

	mu    sync.Mutex
	calls map[string]int
	// written is when the last write request was sent.
	written time.Time
}

// Wrap counts the requests that are sent through a transport.
func (c *Counter) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		operation := c.Operation(r)
		c.mu.Lock()
		if c.calls == nil {
			c.calls = map[string]int{}
		}
		c.calls[operation]++
		if c.Writes[operation] {
			c.written = time.Now()
		}
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// take returns the requests since the last call, by operation.
func (c *Counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := maps.Clone(c.calls)
	clear(c.calls)
	return calls
}

func (c *Counter) lastWrite() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
