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
	// lookupRefresh is how old an answer gets; lookupRetry is the time after a failure.
	lookupRefresh = time.Minute
	lookupRetry   = 10 * time.Second
	// lookupTimeout ends a lookup, of which lookupLimit may be under way.
	lookupTimeout = 5 * time.Second
	lookupLimit   = 8
)

// resolver looks up the addresses of names; a *net.Resolver does.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookups knows the addresses of names, and asks again from time to time as long as
// somebody is interested. Methods may be called from any goroutine.
type lookups struct {
	resolver resolver
	// inUse reports whether anybody is still interested in a name; changed says that what
	// get returns for it is different now.
	inUse   func(host string) bool
	changed func(host string)
	// wake has room for one.
	wake chan struct{}

	mu    sync.Mutex
	hosts map[string]*lookup
	busy  int
}

// lookup is what is known of a name.
type lookup struct {
	// addresses are those of the last answer, sorted. They stay when a later lookup fails.
	addresses []string
	// err is why there are none; nil if there are.
	err  error
	busy bool
	due  time.Time
}

// pendingError says that a name has not been looked up yet.
type pendingError struct{ host string }

// Error implements error.
func (e *pendingError) Error() string { return "look up " + e.host + ": not done yet" }

// Pending marks an error that will go away by itself.
func (e *pendingError) Pending() bool { return true }

// notFound reports whether an error says for certain that a name has no addresses.
func notFound(err error) bool {
	var failed *net.DNSError
	return errors.As(err, &failed) && failed.IsNotFound
}

func newLookups(r resolver, inUse func(string) bool, changed func(string)) *lookups {
	return &lookups{resolver: r, inUse: inUse, changed: changed, wake: make(chan struct{}, 1), hosts: map[string]*lookup{}}
}

// want has a name looked up soon, unless it has been.
func (l *lookups) want(host string) {
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

// get returns the addresses of a name, sorted and shared, or why there are none.
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
			under.Go(func() { l.look(ctx, host) })
		}
		timer.Reset(next.Sub(now))
	}
}

// takeDue returns names to look up now, and when to ask again at the latest. It forgets
// those that nobody is interested in any more.
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
			// Whoever becomes interested after this asks for it after this, too.
			delete(l.hosts, host)
		case l.busy < lookupLimit:
			l.busy++
			h.busy = true
			hosts = append(hosts, host)
		}
		// What is due and finds no room is taken when one that is under way ends.
	}
	return hosts, next
}

// look looks up a name.
func (l *lookups) look(ctx context.Context, host string) {
	addresses, err := l.ask(ctx, host)
	if l.note(ctx, host, addresses, err) {
		l.changed(host)
	}
	l.wakeUp()
}

func (l *lookups) ask(ctx context.Context, host string) ([]string, error) {
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

// note takes the outcome of a lookup and reports whether get returns something else now.
// One that was cancelled says nothing.
func (l *lookups) note(ctx context.Context, host string, addresses []string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[host]
	h.busy = false
	l.busy--
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		same := slices.Equal(h.addresses, addresses)
		h.due, h.addresses, h.err = time.Now().Add(lookupRefresh), addresses, nil
		return !same
	}
	h.due = time.Now().Add(lookupRetry)
	if len(h.addresses) > 0 || h.err.Error() == err.Error() {
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
