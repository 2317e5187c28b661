package reconcile

import (
	"time"
)

// outcome is what a sync says about the API server.
type outcome int

const (
	// noWrite is that of a sync that has written nothing.
	noWrite outcome = iota
	// reached is that of a sync that has written, or tried to write what nobody would accept.
	reached
	// unreachable is that of a sync that has failed in a way that may concern all.
	unreachable
)

// breakers are the gate of all Services and those of their namespaces. A Service has to come through
// both. It is not safe for concurrent use.
type breakers struct {
	workers int
	all     *breaker
	of      map[string]*breaker
	failing map[Key]bool
}

func newBreakers(workers int) *breakers {
	doubted := map[Key]bool{}
	return &breakers{
		workers: workers, all: newBreaker(doubted, func(key Key) string { return key.Namespace }), of: map[string]*breaker{}, failing: doubted,
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

// begin reports whether a Service may be synced now. If not, it is held back, and released later.
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

// verdict is what follows from the end of a sync.
type verdict struct {
	// held is true when a Service that has failed is held back, and false when it is to be tried
	// again after a delay of its own.
	held bool
	// begins says whose pause begins; empty when none does. over are the pauses that have ended.
	begins string
	over   []closedBreaker
}

// closedBreaker is a pause that has ended.
type closedBreaker struct {
	scope  string
	outage outage
}

// clusterScope is who waits in a pause of the gate of all.
const clusterScope = "all"

// scopeLabel returns who waits in a pause of the gate of a namespace.
func scopeLabel(key Key) string { return "namespace " + key.Namespace }

// end notes how the sync of a Service has ended. The error is nil when it succeeded.
func (g *breakers) end(key Key, how outcome, err error, now time.Time) (v verdict) {
	of := g.namespace(key)
	probe, probeOf := g.all.end(key), of.end(key)
	if err == nil {
		delete(g.failing, key)
	}
	switch how {
	case reached:
		if p := g.all.succeed(g.workers); p != nil {
			v.over = append(v.over, closedBreaker{clusterScope, *p})
		}
		if p := of.succeed(g.workers); p != nil {
			v.over = append(v.over, closedBreaker{scopeLabel(key), *p})
		}
	case unreachable:
		if g.all.fail(key, err, now, probe) {
			v.begins = clusterScope
			for _, other := range g.of {
				g.all.absorb(other)
			}
		}
		if !g.all.open && of.fail(key, err, now, probeOf) {
			v.begins = scopeLabel(key)
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

// forgetIdle drops the gate of the namespace of a Service if there is nothing to remember.
func (g *breakers) forgetIdle(key Key) {
	if of := g.of[key.Namespace]; of != nil && of.idle() {
		delete(g.of, key.Namespace)
	}
}
