package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// lookupRefresh is the age at which a result is looked up again; lookupRetry is the pause after a
	// failure.
	lookupRefresh = time.Minute
	lookupRetry   = 10 * time.Second
	// lookupTimeout limits a lookup; lookupLimit limits the parallel lookups.
	lookupTimeout = 5 * time.Second
	lookupLimit   = 8
)

// resolver looks up the addresses of names, like [net.Resolver].
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookups caches the addresses of names, and refreshes them while a Service needs them. Methods may
// be called from any goroutine.
type lookups struct {
	resolver resolver
	// inUse reports whether a Service needs a name. changed is called if the result of get changes.
	inUse   func(host string) bool
	changed func(host string)
	// wake has room for one value.
	wake chan struct{}

	mu    sync.Mutex
	hosts map[string]*lookup
	busy  int
}

// lookup is the cached result for a name.
type lookup struct {
	// addresses are those of the last success, sorted. They stay if a later lookup fails.
	addresses []string
	// err says why there are no addresses or, beside addresses, that the name doesn't exist any more.
	err  error
	busy bool
	due  time.Time
}

// pendingError is the error for a name that has not been looked up yet.
type pendingError struct{ host string }

// Error implements error.
func (e *pendingError) Error() string { return "look up " + e.host + ": not done yet" }

// Pending marks an error that ends without a change of the object.
func (e *pendingError) Pending() bool { return true }

// notFound reports whether an error says that a name has no addresses.
func notFound(err error) bool {
	var failed *net.DNSError
	return errors.As(err, &failed) && failed.IsNotFound
}

func newLookups(r resolver, inUse func(string) bool, changed func(string)) *lookups {
	return &lookups{resolver: r, inUse: inUse, changed: changed, wake: make(chan struct{}, 1), hosts: map[string]*lookup{}}
}

// schedule schedules the lookup of a new name.
func (l *lookups) schedule(host string) {
	l.mu.Lock()
	known := l.hosts[host] != nil
	if !known {
		l.hosts[host] = &lookup{err: &pendingError{host}}
	}
	l.mu.Unlock()
	if !known {
		l.wakeUp()
	}
}

// get returns the addresses of a name, sorted and shared, or why there are none. With addresses, the
// error says that the name doesn't exist any more (see notFound).
func (l *lookups) get(host string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[host]
	if h == nil {
		return nil, &pendingError{host}
	}
	return h.addresses, h.err
}

// run looks up names until ctx ends.
func (l *lookups) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
		}
		now := time.Now()
		due, next := l.takeDue(now)
		for _, host := range due {
			under.Go(func() { l.lookUp(ctx, host) })
		}
		timer.Reset(next.Sub(now))
	}
}

// takeDue returns the names to look up now, and when to call it again at the latest. It removes the
// names that no Service needs any more.
func (l *lookups) takeDue(now time.Time) (hosts []string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next = now.Add(lookupRefresh)
	for host, h := range l.hosts {
		switch {
		case h.busy:
		case h.due.After(now):
			if h.due.Before(next) {
				next = h.due
			}
		case !l.inUse(host):
			// A Service that needs the name later calls schedule after this.
			delete(l.hosts, host)
		case l.busy < lookupLimit:
			l.busy++
			h.busy = true
			hosts = append(hosts, host)
		}
		// Names without a free slot are taken when another lookup ends.
	}
	return hosts, next
}

// lookUp looks up a name and stores the result.
func (l *lookups) lookUp(ctx context.Context, host string) {
	addresses, err := l.resolve(ctx, host)
	if l.store(ctx, host, addresses, err) {
		l.changed(host)
	}
	l.wakeUp()
}

func (l *lookups) resolve(ctx context.Context, host string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := l.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up the load balancer: %w; check the name and the resolver", err)
	}
	addresses := make([]string, len(found))
	for i, a := range found {
		addresses[i] = a.Unmap().WithZone("").String()
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("look up the load balancer %s: it has no address; check the name", host)
	}
	return sorted(addresses), nil
}

// store stores the result of a lookup, and reports whether the result of get has changed. A cancelled lookup
// is ignored.
func (l *lookups) store(ctx context.Context, host string, addresses []string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[host]
	h.busy = false
	l.busy--
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		same := h.err == nil && slices.Equal(h.addresses, addresses)
		h.due, h.addresses, h.err = time.Now().Add(lookupRefresh), addresses, nil
		return !same
	}
	h.due = time.Now().Add(lookupRetry)
	if len(h.addresses) > 0 {
		if h.err != nil || !notFound(err) {
			return false
		}
		err = fmt.Errorf("%w; its last addresses stay published", err)
	}
	if h.err != nil && h.err.Error() == err.Error() {
		return false
	}
	h.err = err
	return true
}

func (l *lookups) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
