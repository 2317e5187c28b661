package validate

import (
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/lab/model"
)

// table has the states that can explain a response to one target of Get. A state is one step of the Service's
// chain, of each slice's and of each workload's. All combinations are possible because each kind has its own
// watch, with its own delay, and a relist delivers the slices in any order. Each part only goes forward.
type table struct {
	target model.Target
	rules  chain[model.PortRule]
	*backends
}

// position is a state of a table: the step number of the rule, of each slice, and of each workload.
type position []int32

func (t *table) start() position { return make(position, 1+len(t.slices)+len(t.workloads)) }

func (t *table) sliceAt(p position, n int) *int32 { return &p[1+n] }

func (t *table) workloadAt(p position, n int32) *int32 { return &p[1+len(t.slices)+int(n)] }

// notAfter reports whether no part of p is later than in q.
func (p position) notAfter(q position) bool {
	for i := range p {
		if p[i] > q[i] {
			return false
		}
	}
	return true
}

// reportedAddress is an address that a client knows, and its workload, as numbers of a backends.
type reportedAddress struct{ address, workload int32 }

// unknownWorkload is the number of a workload that no slice of the Service ever had.
const unknownWorkload int32 = -2

// query is what explain searches for: the endpoints that a client knows, and the time window of the state.
type query struct {
	reported []reportedAddress
	// need are the addresses that the state must serve: all reported ones, or only those that an update added
	// if a removal may follow.
	need []int32
	// until is when the client knew them. A state that was replaced before since is too old.
	since, until time.Duration
}

// explain returns the earliest states, not before from, that serve all needed addresses and no unreported
// one. No result is later than another one. The result is empty if no state explains the query.
//
// If two slices have a workload under two addresses, they need not agree on whether the workload exists.
func (t *table) explain(from position, q query) []position {
	var found []position
	t.mark(q)
	x := explainer{table: t, query: q, from: from}
	first, last := max(int(from[0]), t.rules.at(q.since)), t.rules.known(q.until)
	for r := first; r < last; r++ {
		x.rule = t.rules[r].value
		for _, p := range x.underRule() {
			p[0] = int32(r)
			found = addEarliest(found, p)
		}
	}
	return found
}

// mark marks the addresses of a query.
func (t *table) mark(q query) {
	t.epoch++
	for _, a := range q.reported {
		t.marks[a.address] = mark{epoch: t.epoch, workload: a.workload, bit: -1}
	}
	for i, n := range q.need {
		t.marks[n].bit = i
	}
}

// addEarliest adds a position and drops those that are later, unless the list has an earlier one.
func addEarliest(list []position, p position) []position {
	for _, other := range list {
		if other.notAfter(p) {
			return list
		}
	}
	list = slices.DeleteFunc(list, func(other position) bool { return p.notAfter(other) })
	return append(list, p)
}

// explainer searches for explanations under one port rule.
type explainer struct {
	*table
	query
	from position
	rule model.PortRule
}

// option is a step of a slice that serves no unreported address.
type option struct {
	step   int32
	covers bits    // the needed addresses that it serves
	raises []raise // the workloads that must be at a later step than in from
}

type raise struct{ workload, step int32 }

func (x *explainer) underRule() []position {
	if !x.rule.Serves {
		if len(x.need) > 0 {
			return nil
		}
		return []position{slices.Clone(x.from)}
	}
	options := make([][]option, len(x.slices))
	for n := range x.slices {
		if options[n] = x.options(n); len(options[n]) == 0 {
			return nil
		}
	}
	return x.combine(options, nil, newBits(len(x.need)), 0)
}

// combine chooses an option for each slice so that all needed addresses are covered.
func (x *explainer) combine(options [][]option, chosen []option, covered bits, n int) (found []position) {
	if n == len(options) {
		if !covered.full(len(x.need)) {
			return nil
		}
		return []position{x.positionOf(chosen)}
	}
	for _, o := range options[n] {
		for _, p := range x.combine(options, append(chosen, o), covered.or(o.covers), n+1) {
			found = addEarliest(found, p)
		}
	}
	return found
}

func (x *explainer) positionOf(chosen []option) position {
	p := slices.Clone(x.from)
	for n, o := range chosen {
		*x.sliceAt(p, n) = o.step
		for _, r := range o.raises {
			at := x.workloadAt(p, r.workload)
			*at = max(*at, r.step)
		}
	}
	return p
}

// options returns the options of a slice, without those that are worse than an earlier one.
func (x *explainer) options(n int) []option {
	var out []option
	c := x.slices[n]
	first, last := max(int(*x.sliceAt(x.from, n)), c.at(x.since)), c.known(x.until)
	for i := first; i < last; i++ {
		o, ok := x.option(c[i].value)
		o.step = int32(i)
		if !ok || slices.ContainsFunc(out, o.worseThan) {
			continue
		}
		out = append(out, o)
		if len(o.raises) == 0 && o.covers.full(len(x.need)) {
			break // no later step is better
		}
	}
	return out
}

func (o option) worseThan(earlier option) bool {
	if !earlier.covers.contains(o.covers) {
		return false
	}
	return !slices.ContainsFunc(earlier.raises, func(r raise) bool {
		return !slices.ContainsFunc(o.raises, func(own raise) bool { return own.workload == r.workload && own.step >= r.step })
	})
}

// option checks what a slice serves. ok is false if it serves an unreported address.
func (x *explainer) option(s *sliceState) (o option, ok bool) {
	o.covers = newBits(len(x.need))
	if s == nil {
		return o, true
	}
	port := x.rule.In(s.ports)
	if port == 0 {
		return o, true
	}
	numbers := x.addressesOf(s, port)
	for i := range s.endpoints {
		e := &s.endpoints[i]
		if x.target.Hostname != "" && e.hostname != x.target.Hostname {
			continue
		}
		reported := x.marks[numbers[i]]
		switch {
		case reported.epoch != x.epoch:
			if !x.mustBe(&o, e, false) {
				return o, false
			}
		case reported.workload == e.workload && x.mustBe(&o, e, true) && reported.bit >= 0:
			o.covers.set(reported.bit)
		}
	}
	return o, true
}

// mustBe requires that the workload of an endpoint exists, or that it doesn't. It returns false if that is
// impossible.
func (x *explainer) mustBe(o *option, e *endpoint, exist bool) bool {
	if e.workload == noWorkload {
		return exist
	}
	from := *x.workloadAt(x.from, e.workload)
	c := x.workloads[e.workload]
	for i := from; int(i) < len(c) && (i == 0 || c[i].at <= x.until); i++ {
		if int(i)+1 < len(c) && c[i+1].at <= x.since || c[i].value.has(e.uid) != exist {
			continue
		}
		if i > from {
			o.raises = append(o.raises, raise{e.workload, i})
		}
		return true
	}
	return false
}

// earliest returns the first step within the query's time window, not before from, that is wanted, or -1.
func earliest[T any](c chain[T], from int32, q query, wanted func(T) bool) int32 {
	for i := max(from, int32(c.at(q.since))); int(i) < c.known(q.until); i++ {
		if wanted(c[i].value) {
			return i
		}
	}
	return -1
}

// alwaysServed reports whether an address was served in each state from a position on.
func (t *table) alwaysServed(at netip.AddrPort, from position, q query) bool {
	first, last := max(int(from[0]), t.rules.at(q.since)), t.rules.known(q.until)
	for r := first; r < last; r++ {
		if !t.alwaysIn(at, t.rules[r].value, from, q) {
			return false
		}
	}
	return true
}

// alwaysIn reports whether some slice has always served an address under a rule.
func (t *table) alwaysIn(at netip.AddrPort, rule model.PortRule, from position, q query) bool {
	for n, c := range t.slices {
		lacks := func(s *sliceState) bool { return !t.serves(s, at, rule, from, q) }
		if earliest(c, *t.sliceAt(from, n), q, lacks) < 0 {
			return true
		}
	}
	return false
}

// serves reports whether a slice has an address, and its workload has existed throughout the query's time
// window.
func (t *table) serves(s *sliceState, at netip.AddrPort, rule model.PortRule, from position, q query) bool {
	if s == nil || rule.In(s.ports) != at.Port() {
		return false
	}
	return slices.ContainsFunc(s.endpoints, func(e endpoint) bool {
		if e.ip != at.Addr() || t.target.Hostname != "" && e.hostname != t.target.Hostname {
			return false
		}
		if e.workload == noWorkload {
			return true
		}
		missing := func(v existence) bool { return !v.has(e.uid) }
		return earliest(t.workloads[e.workload], *t.workloadAt(from, e.workload), q, missing) < 0
	})
}
