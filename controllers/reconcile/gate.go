package reconcile

import (
	"slices"
	"time"
)

const (
	// several is how many different Services of a namespace, or different namespaces, have to fail
	// without a success in between before the failures count as those of all.
	several = 3
	// probeFirst and probeLimit bound the delay between probes during a pause: no Service is to
	// wait for longer once the API server is back.
	probeFirst, probeLimit = 100 * time.Millisecond, 4 * time.Second
	// freshDelay is the delay at most between probes while there are some that have not failed yet.
	freshDelay = 250 * time.Millisecond
	// askedLimit bounds the delay that an answer asks for.
	askedLimit = 10 * time.Second
)

// breaker lets Services through to their syncs: all of them, or those of a namespace. When several
// fail in a row, it pauses and holds all back but one, the probe. Once a request succeeds, the
// others follow, one at a time at first.
//
// What fails is called a child: one of its Services for the gate of a namespace, a namespace for
// the gate of all.
type breaker struct {
	child func(Key) string
	// failing are the Services, of all gates, that have failed since they last succeeded.
	failing map[Key]bool

	// failed are the children that have failed since the last success.
	failed map[string]bool
	// running is how many syncs are under way.
	running int
	// allowed is how many syncs may be under way; 0 for any number.
	allowed int

	open bool
	// probe is the sync that is under way during a pause, while probing is true.
	probe   Key
	probing bool
	// tries is how many probes of the pause have failed. The next one waits until a time, or, if
	// neither it nor its child has failed, until another one.
	tries              int
	until, untriedFrom time.Time

	// held are the Services that wait; those that are doubted have a true value. fresh and tried
	// have the others and those in the order in which they came, and some that no longer wait.
	held             map[Key]bool
	untried, retried []Key

	outage outage
}

// outage is what there is to say of a pause when it is over.
type outage struct {
	cause       error
	since, last time.Time
	failures    int
}

func newBreaker(doubted map[Key]bool, child func(Key) string) *breaker {
	return &breaker{child: child, failing: doubted, failed: map[string]bool{}, held: map[Key]bool{}}
}

// admits reports whether a Service may be synced now.
func (g *breaker) admits(key Key, now time.Time) bool {
	if g.open {
		return !g.probing && !now.Before(g.from(key))
	}
	return g.allowed == 0 || g.running < g.allowed
}

// from returns from when on a Service may be the probe.
func (g *breaker) from(key Key) time.Time {
	if !g.failing[key] && !g.failed[g.child(key)] && g.untriedFrom.Before(g.until) {
		return g.untriedFrom
	}
	return g.until
}

// begin notes that the sync of a Service begins.
func (g *breaker) begin(key Key) {
	delete(g.held, key)
	g.running++
	if g.open {
		g.probe, g.probing = key, true
	}
}

// end notes that the sync of a Service has ended. It reports whether that was the probe.
func (g *breaker) end(key Key) (probe bool) {
	g.running--
	probe = g.probing && g.probe == key
	g.probing = g.probing && !probe
	return probe
}

// hold keeps a Service back. Those that are doubted let the others pass.
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

// fail notes that the sync of a Service has failed in a way that may concern all. It reports
// whether a pause begins.
func (g *breaker) fail(key Key, err error, now time.Time, probe bool) (begins bool) {
	g.failed[g.child(key)], g.failing[key] = true, true
	if !g.open {
		if g.allowed > 1 {
			g.allowed /= 2
		}
		if len(g.failed) < several {
			return false
		}
		g.open, g.tries, g.allowed, begins = true, 0, 0, true
		g.outage = outage{cause: err, since: now}
	}
	g.outage.failures++
	g.outage.last = now
	wait := asked(err)
	freshWait := wait
	if begins || probe {
		delay := backoff(probeFirst, probeLimit, g.tries)
		wait, freshWait = max(wait, delay), max(wait, min(delay, freshDelay))
		g.tries++
	}
	g.until, g.untriedFrom = later(g.until, now.Add(wait)), later(g.untriedFrom, now.Add(freshWait))
	return begins
}

// succeed notes that the API server has carried out a request, or has refused it for a reason that
// concerns nothing else. It returns the pause that ends with it; nil when there was none.
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

// slow halves the number of syncs that may be under way, for an API server that is overloaded.
func (g *breaker) slow() {
	if !g.open && g.allowed == 0 {
		g.allowed = max(1, g.running/2)
	}
}

// release returns the Services that need not wait any more; tried are those that are doubted, unless
// one of them is to be the next probe.
func (g *breaker) release(now time.Time) (fresh, tried []Key) {
	if g.open {
		if key, ok := g.nextProbe(now); ok {
			delete(g.held, key)
			fresh = append(fresh, key)
		}
		return fresh, nil
	}
	room := len(g.held)
	if g.allowed > 0 {
		room = min(room, g.allowed-g.running)
	}
	for ; room > 0; room-- {
		if key, ok := g.pop(&g.untried, false); ok {
			fresh = append(fresh, key)
		} else if key, ok := g.pop(&g.retried, true); ok {
			tried = append(tried, key)
		}
	}
	if len(g.held) == 0 {
		g.untried, g.retried = nil, nil
	}
	return fresh, tried
}

// pop takes the first Service of a list that still waits.
func (g *breaker) pop(list *[]Key, doubted bool) (Key, bool) {
	for len(*list) > 0 {
		key := (*list)[0]
		*list = (*list)[1:]
		if value, waits := g.held[key]; waits && value == doubted {
			delete(g.held, key)
			return key, true
		}
	}
	return Key{}, false
}

// nextProbe returns who is to be the next probe, if it may be one now: somebody whose child has not
// failed either, rather than somebody who has not, rather than another one.
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

// untriedChild returns a Service that waits, and whose child has not failed.
func (g *breaker) untriedChild() (Key, bool) {
	i := slices.IndexFunc(g.untried, func(key Key) bool {
		doubted, waits := g.held[key]
		return waits && !doubted && !g.failed[g.child(key)]
	})
	if i < 0 {
		return Key{}, false
	}
	return g.untried[i], true
}

// wake returns when release is to be called; zero when something else has to happen first.
func (g *breaker) wake() time.Time {
	if !g.open || g.probing || len(g.held) == 0 {
		return time.Time{}
	}
	if _, ok := g.untriedChild(); ok && g.untriedFrom.Before(g.until) {
		return g.untriedFrom
	}
	return g.until
}

// idle reports whether the gate is as it was when it was made.
func (g *breaker) idle() bool {
	return g.running == 0 && !g.open && g.allowed == 0 && len(g.failed) == 0 && len(g.held) == 0
}

// absorb takes over everybody that waits at another gate, which lets everybody through after that.
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

// backoff returns the delay after so many failures: it doubles from the first up to the limit.
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
