package validate

import (
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/lab/model"
)

// served has the states that can explain a ClusterLoadAssignment of one name, and reports whether an address
// is in them. As for Get, each kind of object has its own watch, so a state is any step of each chain within
// the time window of a query.
type served struct {
	*table
	changes []time.Duration // when any part of the states changed
}

func newServed(o *objects, target model.Target) *served {
	t := &served{table: &table{
		target: target, rules: o.rulesOf(target, model.ClusterRuleOf), backends: o.backendsOf(serviceKey{target.Namespace, target.Service}),
	}}
	t.changes = append(t.changes, timesOf(t.rules)...)
	for _, c := range t.slices {
		t.changes = append(t.changes, timesOf(c)...)
	}
	for _, c := range t.workloads {
		t.changes = append(t.changes, timesOf(c)...)
	}
	slices.Sort(t.changes)
	t.changes = slices.Compact(t.changes)
	return t
}

// timesOf returns the times of the steps of a chain, without the first one.
func timesOf[T any](c chain[T]) []time.Duration {
	var all []time.Duration
	for _, s := range c[1:] {
		all = append(all, s.at)
	}
	return all
}

func readyIn(s *sliceState) []endpoint { return s.endpoints }

func drainingIn(s *sliceState) []endpoint { return s.draining }

// everReady reports whether some state has an address as ready.
func (t *served) everReady(at netip.AddrPort, q query) bool { return t.ever(at, q, readyIn) }

// everDraining reports whether some state has an address as draining.
func (t *served) everDraining(at netip.AddrPort, q query) bool { return t.ever(at, q, drainingIn) }

// alwaysReady reports whether each state has an address as ready.
func (t *served) alwaysReady(at netip.AddrPort, q query) bool {
	return t.alwaysServed(at, t.start(), q)
}

// otherAlwaysReady reports whether some address is ready in each state.
func (t *served) otherAlwaysReady(q query) bool {
	return slices.ContainsFunc(t.servedAt(q.since), func(at netip.AddrPort) bool { return t.alwaysReady(at, q) })
}

// ever reports whether some state has an address among the chosen endpoints of a slice.
func (t *served) ever(at netip.AddrPort, q query, meant func(*sliceState) []endpoint) bool {
	for r := t.rules.at(q.since); r < t.rules.known(q.until); r++ {
		rule := t.rules[r].value
		has := func(s *sliceState) bool {
			return s != nil && rule.In(s.ports) == at.Port() && slices.ContainsFunc(meant(s), func(e endpoint) bool { return t.mayBe(e, at.Addr(), q) })
		}
		if slices.ContainsFunc(t.slices, func(c chain[*sliceState]) bool { return earliest(c, 0, q, has) >= 0 }) {
			return true
		}
	}
	return false
}

// mayBe reports whether an endpoint has an address, and some state has its workload.
func (t *served) mayBe(e endpoint, ip netip.Addr, q query) bool {
	if e.ip != ip || t.target.Hostname != "" && e.hostname != t.target.Hostname {
		return false
	}
	return e.workload == noWorkload || earliest(t.workloads[e.workload], 0, q, func(v existence) bool { return v.has(e.uid) }) >= 0
}
