package validate

import (
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/lab/model"
)

// served has the states that a ClusterLoadAssignment of one name may come from, and looks up whether an
// address was in them. As for Get, each kind of object is read by a watch of its own: a state is a step of
// each chain within the times of a question.
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

// timesOf returns when the steps of a chain after the first one began.
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
func (t *served) everReady(at netip.AddrPort, q question) bool { return t.ever(at, q, readyIn) }

// everDraining reports whether some state has an address that completes its requests.
func (t *served) everDraining(at netip.AddrPort, q question) bool { return t.ever(at, q, drainingIn) }

// alwaysReady reports whether each state has an address as ready.
func (t *served) alwaysReady(at netip.AddrPort, q question) bool {
	return t.alwaysServed(at, t.start(), q)
}

// otherAlwaysReady reports whether each state has one and the same address as ready.
func (t *served) otherAlwaysReady(q question) bool {
	return slices.ContainsFunc(t.servedAt(q.since), func(at netip.AddrPort) bool { return t.alwaysReady(at, q) })
}

// ever reports whether some state has an address among the endpoints of a slice that are meant.
func (t *served) ever(at netip.AddrPort, q question, meant func(*sliceState) []endpoint) bool {
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
func (t *served) mayBe(e endpoint, ip netip.Addr, q question) bool {
	if e.ip != ip || t.target.Hostname != "" && e.hostname != t.target.Hostname {
		return false
	}
	return e.workload == none || earliest(t.workloads[e.workload], 0, q, func(v existence) bool { return v.has(e.uid) }) >= 0
}
