package reconcile

import (
	"slices"
	"time"
)

const (
	// failureThreshold is how many Services of a namespace, or how many namespaces, must fail without a
	// success in between before the failures count as shared by all.
	failureThreshold = 3
	// probeFirst and probeLimit bound the delay between probes while the breaker is open. probeLimit is also
	// how long Services may wait after the API server has recovered.
	probeFirst, probeLimit = 100 * time.Millisecond, 4 * time.Second
	// untriedDelay caps the delay between probes while some Services have not failed yet.
	untriedDelay = 250 * time.Millisecond
	// retryAfterLimit caps the delay that a response asks for (Retry-After).
	retryAfterLimit = 10 * time.Second
)

// breaker is a circuit breaker for the syncs of all Services, or of those of a namespace. If several Services
// fail in a row, it opens: all Services are held back except one, the probe. Once a request succeeds, the
// breaker closes, and the others follow, one at a time at first.
//
// The unit that fails is called a child. It is a Service for the breaker of a namespace, and a namespace for
// the breaker of all.
type breaker struct {
	child func(Key) string
	// failing are the Services, of all breakers, that have failed since they last succeeded.
	failing map[Key]bool

	// failed are the children that have failed since the last success.
	failed map[string]bool
	// running is the number of syncs under way, without slow ones.
	running int
	// allowed is the limit for running; 0 means no limit.
	allowed int

	open bool
	// probe is the sync under way while the breaker is open, if probing is true.
	probe   Key
	probing bool
	// tries is the number of failed probes. The next probe starts at until; a Service that has not failed, of
	// a child that has not failed, may start at untriedFrom.
	tries              int
	until, untriedFrom time.Time

	// held are the Services that wait: true if failing. untried and retried queue the keys of each kind in
	// order of arrival; keys that are no longer in held are skipped.
	held             map[Key]bool
	untried, retried []Key

	outage outage
}

// outage summarises the time that a breaker was open, for the log.
type outage struct {
	cause       error
	since, last time.Time
	failures    int
}

func newBreaker(failing map[Key]bool, child func(Key) string) *breaker {
	return &breaker{child: child, failing: failing, failed: map[string]bool{}, held: map[Key]bool{}}
}

// admits reports whether a Service may be synced now.
func (g *breaker) admits(key Key, now time.Time) bool {
	if g.open {
		return !g.probing && !now.Before(g.probeFrom(key))
	}
	return g.allowed == 0 || g.running < g.allowed
}

// probeFrom returns from when on a Service may be the probe.
func (g *breaker) probeFrom(key Key) time.Time {
	if !g.failing[key] && !g.failed[g.child(key)] && g.untriedFrom.Before(g.until) {
		return g.untriedFrom
	}
	return g.until
}

// begin records that the sync of a Service starts.
func (g *breaker) begin(key Key) {
	delete(g.held, key)
	g.running++
	if g.open {
		g.probe, g.probing = key, true
	}
}

// slow records that a sync under way is slow. Others may start meanwhile: a slow probe says that a request
// takes long, not whether requests of other Services succeed.
func (g *breaker) slow(key Key, now time.Time) {
	g.running--
	if g.probing && g.probe == key {
		g.probing = false
		g.postpone(now)
	}
}

// end records that the sync of a Service has ended. It reports whether that was the probe.
func (g *breaker) end(key Key, slow bool) (probe bool) {
	if slow {
		return false
	}
	g.running--
	probe = g.probing && g.probe == key
	g.probing = g.probing && !probe
	return probe
}

// hold queues a Service. Failing Services queue behind the others.
func (g *breaker) hold(key Key) {
	if _, waits := g.held[key]; waits {
		return
	}
	g.held[key] = g.failing[key]
	if g.failing[key] {
		g.retried = append(g.retried, key)
	} else {
		g.untried = append(g.untried, key)
	}
}

// fail records a failure that may affect all Services. It reports whether the breaker has opened.
func (g *breaker) fail(key Key, err error, now time.Time, probe bool) (begins bool) {
	g.failed[g.child(key)], g.failing[key] = true, true
	if !g.open {
		if g.allowed > 1 {
			g.allowed /= 2
		}
		if len(g.failed) < failureThreshold {
			return false
		}
		g.open, g.tries, g.allowed, begins = true, 0, 0, true
		g.outage = outage{cause: err, since: now}
	}
	g.outage.failures++
	g.outage.last = now
	wait := retryAfter(err)
	g.until, g.untriedFrom = later(g.until, now.Add(wait)), later(g.untriedFrom, now.Add(wait))
	if begins || probe {
		g.postpone(now)
	}
	return begins
}

// postpone delays the next probe, longer each time.
func (g *breaker) postpone(now time.Time) {
	delay := backoff(probeFirst, probeLimit, g.tries)
	g.tries++
	g.until, g.untriedFrom = later(g.until, now.Add(delay)), later(g.untriedFrom, now.Add(min(delay, untriedDelay)))
}

// succeed records that the API server has carried out a request, or has refused it for a reason that affects
// nothing else. It returns the outage that ends; nil if the breaker wasn't open.
func (g *breaker) succeed(workers int) *outage {
	clear(g.failed)
	switch {
	case g.open:
		g.open, g.probing, g.allowed = false, false, 1
		over := g.outage
		return &over
	case g.allowed >= workers:
		g.allowed = 0
	case g.allowed > 0:
		g.allowed++
	}
	return nil
}

// throttle halves the number of concurrent syncs, for an overloaded API server.
func (g *breaker) throttle() {
	if !g.open && g.allowed == 0 {
		g.allowed = max(1, g.running/2)
	}
}

// release returns the Services that need no longer wait: untried are those that have not failed, retried
// those that have. The next probe is always in untried.
func (g *breaker) release(now time.Time) (untried, retried []Key) {
	if g.open {
		if key, ok := g.nextProbe(now); ok {
			delete(g.held, key)
			untried = append(untried, key)
		}
		return untried, nil
	}
	room := len(g.held)
	if g.allowed > 0 {
		room = min(room, g.allowed-g.running)
	}
	for ; room > 0; room-- {
		if key, ok := g.pop(&g.untried, false); ok {
			untried = append(untried, key)
		} else if key, ok := g.pop(&g.retried, true); ok {
			retried = append(retried, key)
		}
	}
	if len(g.held) == 0 {
		g.untried, g.retried = nil, nil
	}
	return untried, retried
}

// pop takes the first Service of a list that still waits.
func (g *breaker) pop(list *[]Key, failing bool) (Key, bool) {
	for len(*list) > 0 {
		key := (*list)[0]
		*list = (*list)[1:]
		if value, waits := g.held[key]; waits && value == failing {
			delete(g.held, key)
			return key, true
		}
	}
	return Key{}, false
}

// nextProbe returns the Service to probe with, if a probe may start now. It prefers a Service of a child that
// has not failed, then a Service that has not failed.
func (g *breaker) nextProbe(now time.Time) (Key, bool) {
	if g.probing {
		return Key{}, false
	}
	if !now.Before(g.untriedFrom) {
		if key, ok := g.untriedChild(); ok {
			return key, true
		}
	}
	if now.Before(g.until) {
		return Key{}, false
	}
	if key, ok := g.pop(&g.untried, false); ok {
		return key, true
	}
	return g.pop(&g.retried, true)
}

// untriedChild returns a waiting Service of a child that has not failed.
func (g *breaker) untriedChild() (Key, bool) {
	i := slices.IndexFunc(g.untried, func(key Key) bool {
		failing, waits := g.held[key]
		return waits && !failing && !g.failed[g.child(key)]
	})
	if i < 0 {
		return Key{}, false
	}
	return g.untried[i], true
}

// wake returns when release must be called; zero if another event comes first.
func (g *breaker) wake() time.Time {
	if !g.open || g.probing || len(g.held) == 0 {
		return time.Time{}
	}
	if _, ok := g.untriedChild(); ok && g.untriedFrom.Before(g.until) {
		return g.untriedFrom
	}
	return g.until
}

// idle reports whether the breaker is in its initial state.
func (g *breaker) idle() bool {
	return g.running == 0 && !g.open && g.allowed == 0 && len(g.failed) == 0 && len(g.held) == 0
}

// absorb takes over all Services that wait at another breaker, which becomes closed.
func (g *breaker) absorb(other *breaker) {
	for _, key := range slices.Concat(other.untried, other.retried) {
		if _, waits := other.held[key]; waits {
			g.hold(key)
		}
	}
	running := other.running
	*other = *newBreaker(other.failing, other.child)
	other.running = running
}

// backoff returns the delay after a number of failures: it doubles from first up to limit.
func backoff(first, limit time.Duration, failures int) time.Duration {
	for range failures {
		if first >= limit {
			break
		}
		first *= 2
	}
	return min(first, limit)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
