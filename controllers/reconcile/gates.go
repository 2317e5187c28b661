package reconcile

import (
	"time"
)

// outcome is what a sync says about the API server.
type outcome int

const (
	// silent is that of a sync that has written nothing.
	silent outcome = iota
	// answered is that of a sync that has written, or tried to write what nobody would accept.
	answered
	// unanswered is that of a sync that has failed in a way that may concern all.
	unanswered
)

// gates are the gate of all Services and those of their namespaces. A Service has to come through
// both. It is not safe for concurrent use.
type gates struct {
	workers int
	all     *gate
	of      map[string]*gate
	doubted map[Key]bool
}

func newGates(workers int) *gates {
	doubted := map[Key]bool{}
	return &gates{
		workers: workers, all: newGate(doubted, func(key Key) string { return key.Namespace }), of: map[string]*gate{}, doubted: doubted,
	}
}

func (g *gates) namespace(key Key) *gate {
	of := g.of[key.Namespace]
	if of == nil {
		of = newGate(g.doubted, func(key Key) string { return key.Name })
		g.of[key.Namespace] = of
	}
	return of
}

// begin reports whether a Service may be synced now. If not, it is held back, and released later.
func (g *gates) begin(key Key, now time.Time) bool {
	of := g.namespace(key)
	switch {
	case !g.all.admits(key, now):
		g.all.hold(key)
		g.forgetIdle(key)
		return false
	case !g.all.paused && !of.admits(key, now):
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
	over   []ended
}

// ended is a pause that has ended.
type ended struct {
	whose string
	pause pause
}

// everybody is who waits in a pause of the gate of all.
const everybody = "all"

// whose returns who waits in a pause of the gate of a namespace.
func whose(key Key) string { return "namespace " + key.Namespace }

// end notes how the sync of a Service has ended. The error is nil when it succeeded.
func (g *gates) end(key Key, how outcome, err error, now time.Time) (v verdict) {
	of := g.namespace(key)
	probe, probeOf := g.all.end(key), of.end(key)
	if err == nil {
		delete(g.doubted, key)
	}
	switch how {
	case answered:
		if p := g.all.succeed(g.workers); p != nil {
			v.over = append(v.over, ended{everybody, *p})
		}
		if p := of.succeed(g.workers); p != nil {
			v.over = append(v.over, ended{whose(key), *p})
		}
	case unanswered:
		if g.all.fail(key, err, now, probe) {
			v.begins = everybody
			for _, other := range g.of {
				g.all.absorb(other)
			}
		}
		if !g.all.paused && of.fail(key, err, now, probeOf) {
			v.begins = whose(key)
		}
		switch {
		case g.all.paused:
			g.all.hold(key)
			v.held = true
		case of.paused:
			of.hold(key)
			v.held = true
		}
	}
	return v
}

// forgetIdle drops the gate of the namespace of a Service if there is nothing to remember.
func (g *gates) forgetIdle(key Key) {
	if of := g.of[key.Namespace]; of != nil && of.idle() {
		delete(g.of, key.Namespace)
	}
}
