// Package streams has the state of streams that the gRPC servers of packages destination and xds
// share: the [Calls] that are open, and the [Set] of their streams; a [Map] of values that streams
// share, such as the topic of a query, which is made for the first stream that needs it and ends
// with the last one; and the [Lag] of each stream.
//
// # Concurrency
//
// The methods of Calls, of a Set and of a Map may be called from any goroutine. A Set and a Map
// call functions of the caller under their lock. These functions must not call the methods, and
// delay other users. The stream sets its Lag, and any goroutine reads it.
package streams

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/internal/channel"
)

// Calls are the open calls of a server. After Stop, no call begins. Make them with [NewCalls].
type Calls struct {
	mu       sync.Mutex
	stopping chan struct{}
	running  sync.WaitGroup
}

// NewCalls returns no calls.
func NewCalls() *Calls { return &Calls{stopping: make(chan struct{})} }

// Begin counts a call until End. It returns false after Stop.
func (c *Calls) Begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if channel.IsClosed(c.stopping) {
		return false
	}
	c.running.Add(1)
	return true
}

// End undoes Begin.
func (c *Calls) End() { c.running.Done() }

// Go runs f, for which Wait waits, too. Only an open call may use it.
func (c *Calls) Go(f func()) { c.running.Go(f) }

// Stopping returns a channel that closes when the calls have to end.
func (c *Calls) Stopping() <-chan struct{} { return c.stopping }

// Stop tells the calls to end. It is called once.
func (c *Calls) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.stopping)
}

// Wait waits after Stop until the last call has ended.
func (c *Calls) Wait() { c.running.Wait() }

// Set is a set of open streams. The zero Set is empty.
type Set[S comparable] struct {
	mu sync.Mutex
	m  map[S]struct{}
}

// Add adds a stream.
func (ss *Set[S]) Add(s S) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.m == nil {
		ss.m = map[S]struct{}{}
	}
	ss.m[s] = struct{}{}
}

// Remove removes a stream.
func (ss *Set[S]) Remove(s S) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.m, s)
}

// Each calls f for each stream.
func (ss *Set[S]) Each(f func(S)) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for s := range ss.m {
		f(s)
	}
}

// All returns the streams, in any order.
func (ss *Set[S]) All() []S {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.AppendSeq(make([]S, 0, len(ss.m)), maps.Keys(ss.m))
}

// Map has the values of the keys in use. The zero Map is empty.
type Map[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]*used[V]
}

type used[V any] struct {
	value V
	users int
}

// Acquire returns the value of a key. If the key has no user, create makes the value, or refuses with an
// error. Each Acquire without an error is followed by one Release.
func (m *Map[K, V]) Acquire(key K, create func() (V, error)) (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.m[key]
	if u == nil {
		value, err := create()
		if err != nil {
			return value, err
		}
		if m.m == nil {
			m.m = map[K]*used[V]{}
		}
		u = &used[V]{value: value}
		m.m[key] = u
	}
	u.users++
	return u.value, nil
}

// Release ends one use of a key. After the last one, the Map drops the value and calls end.
func (m *Map[K, V]) Release(key K, end func(V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.m[key]
	if u.users--; u.users > 0 {
		return
	}
	delete(m.m, key)
	end(u.value)
}

// Each calls f for each value.
func (m *Map[K, V]) Each(f func(V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.m {
		f(u.value)
	}
}

// Len returns how many keys are in use.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.m)
}

// Lag is the delay of a stream.
type Lag struct {
	// since is the time of the response that is being sent, in nanoseconds since 1970; zero for none.
	since atomic.Int64
}

// Begin records that a response of this time is being sent.
func (l *Lag) Begin(at time.Time) { l.since.Store(at.UnixNano()) }

// End records that the response was sent.
func (l *Lag) End() { l.since.Store(0) }

// At returns the age of the response that is being sent; zero for none.
func (l *Lag) At(now time.Time) time.Duration {
	since := l.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, since)))
}
