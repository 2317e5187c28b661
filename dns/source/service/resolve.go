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

	"k8s.io/client-go/util/workqueue"
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

	mu    sync.Mutex
	hosts map[string]*lookup
	// queue has each of hosts once, from when run begins.
	queue workqueue.TypedDelayingInterface[string]
}

// lookup is the cached result for a name.
type lookup struct {
	// addresses are those of the last success, sorted. They stay if a later lookup fails.
	addresses []string
	// err says why there are no addresses or, beside addresses, that the name doesn't exist any more.
	err error
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
	return &lookups{resolver: r, inUse: inUse, changed: changed, hosts: map[string]*lookup{}}
}

// schedule schedules the lookup of a new name.
func (l *lookups) schedule(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts[host] != nil {
		return
	}
	l.hosts[host] = &lookup{err: &pendingError{host}}
	if l.queue != nil {
		l.queue.Add(host)
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
	queue := workqueue.NewTypedDelayingQueue[string]()
	context.AfterFunc(ctx, queue.ShutDown)
	l.mu.Lock()
	l.queue = queue
	for host := range l.hosts {
		queue.Add(host)
	}
	l.mu.Unlock()
	var workers sync.WaitGroup
	for range lookupLimit {
		workers.Go(func() {
			for host, ended := queue.Get(); !ended; host, ended = queue.Get() {
				if after := l.lookUp(ctx, host); after > 0 {
					queue.AddAfter(host, after)
				}
				queue.Done(host)
			}
		})
	}
	workers.Wait()
}

// lookUp looks up a name and stores the result. It returns when to look it up again, or zero if no Service
// needs the name any more or ctx has ended.
func (l *lookups) lookUp(ctx context.Context, host string) (after time.Duration) {
	if ctx.Err() != nil || l.forgotten(host) {
		return 0
	}
	addresses, err := l.resolve(ctx, host)
	if ctx.Err() != nil {
		return 0
	}
	if l.store(host, addresses, err) {
		l.changed(host)
	}
	if err != nil {
		return lookupRetry
	}
	return lookupRefresh
}

// forgotten forgets a name that no Service needs. A Service that needs it later calls schedule after this.
func (l *lookups) forgotten(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inUse(host) {
		return false
	}
	delete(l.hosts, host)
	return true
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

// store stores the result of a lookup, and reports whether the result of get has changed.
func (l *lookups) store(host string, addresses []string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[host]
	if err == nil {
		same := h.err == nil && slices.Equal(h.addresses, addresses)
		h.addresses, h.err = addresses, nil
		return !same
	}
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
