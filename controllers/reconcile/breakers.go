package reconcile

import (
	"time"
)

// outcome is what a sync shows about the API server.
type outcome int

const (
	// noWrite: the sync has written nothing.
	noWrite outcome = iota
	// reached: the sync has written, or tried to write something that no server would accept.
	reached
	// unreachable: the sync has failed in a way that may affect all Services.
	unreachable
)

// breakers are the breaker of all Services and those of their namespaces. A Service must pass both. It is not
// safe for concurrent use.
type breakers struct {
	workers int
	all     *breaker
	of      map[string]*breaker
	failing map[Key]bool
}

func newBreakers(workers int) *breakers {
	failing := map[Key]bool{}
	return &breakers{
		workers: workers, all: newBreaker(failing, func(key Key) string { return key.Namespace }), of: map[string]*breaker{}, failing: failing,
	}
}

func (g *breakers) namespace(key Key) *breaker {
	of := g.of[key.Namespace]
	if of == nil {
		of = newBreaker(g.failing, func(key Key) string { return key.Name })
		g.of[key.Namespace] = of
	}
	return of
}

// begin reports whether a Service may be synced now. If not, the Service is held back and released later.
func (g *breakers) begin(key Key, now time.Time) bool {
	of := g.namespace(key)
	switch {
	case !g.all.admits(key, now):
		g.all.hold(key)
		g.forgetIdle(key)
		return false
	case !g.all.open && !of.admits(key, now):
		of.hold(key)
		return false
	}
	g.all.begin(key)
	of.begin(key)
	return true
}

// slow records that the sync of a Service is slow.
func (g *breakers) slow(key Key, now time.Time) {
	g.all.slow(key, now)
	g.namespace(key).slow(key, now)
}

// verdict is the consequence of a sync's end.
type verdict struct {
	// held is true if a failed Service is held back by a breaker, and false if it is retried after a delay of
	// its own.
	held bool
	// opened is the scope of the breaker that opened; empty for none. closed are the breakers that have
	// closed.
	opened string
	closed []closedBreaker
}

type closedBreaker struct {
	scope  string
	outage outage
}

// clusterScope is the scope of the breaker of all Services.
const clusterScope = "all"

func scopeLabel(key Key) string { return "namespace " + key.Namespace }

// end records the end of a Service's sync. The error is nil if it succeeded.
func (g *breakers) end(key Key, slow bool, how outcome, err error, now time.Time) (v verdict) {
	of := g.namespace(key)
	probe, probeOf := g.all.end(key, slow), of.end(key, slow)
	if err == nil {
		delete(g.failing, key)
	}
	switch how {
	case reached:
		if p := g.all.succeed(g.workers); p != nil {
			v.closed = append(v.closed, closedBreaker{clusterScope, *p})
		}
		if p := of.succeed(g.workers); p != nil {
			v.closed = append(v.closed, closedBreaker{scopeLabel(key), *p})
		}
	case unreachable:
		if g.all.fail(key, err, now, probe) {
			v.opened = clusterScope
			for _, other := range g.of {
				g.all.absorb(other)
			}
		}
		if !g.all.open && of.fail(key, err, now, probeOf) {
			v.opened = scopeLabel(key)
		}
		switch {
		case g.all.open:
			g.all.hold(key)
			v.held = true
		case of.open:
			of.hold(key)
			v.held = true
		}
	}
	return v
}

// forgetIdle drops the breaker of a Service's namespace if it is in its initial state.
func (g *breakers) forgetIdle(key Key) {
	if of := g.of[key.Namespace]; of != nil && of.idle() {
		delete(g.of, key.Namespace)
	}
}
