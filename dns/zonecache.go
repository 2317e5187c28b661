package dns

import (
	"sync"
	"time"
)

// ZoneCache keeps a listing of zones for some time (spec/dns.md §8.0). Callers ask whether it
// is expired, and if so Reset it; what Get returns is there also when a new listing can't
// be had. It may be used from any goroutine.
type ZoneCache[T any] struct {
	duration time.Duration

	mu     sync.Mutex
	value  T
	stored time.Time
}

// NewZoneCache returns a cache that keeps for a duration; at zero or less it keeps nothing.
func NewZoneCache[T any](duration time.Duration) *ZoneCache[T] {
	return &ZoneCache[T]{duration: duration}
}

// Expired reports whether there is nothing to use: it was never reset, or too long ago, or
// the cache keeps nothing.
func (c *ZoneCache[T]) Expired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.duration <= 0 || c.stored.IsZero() || time.Since(c.stored) > c.duration
}

// Get returns what was stored last, however old, and the zero value if nothing was.
func (c *ZoneCache[T]) Get() T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

// Reset stores a value, unless the cache keeps nothing.
func (c *ZoneCache[T]) Reset(value T) {
	if c.duration <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.stored = value, time.Now()
}
