package validate

import (
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/lab/model"
)

// table has the states that an answer to one target of Get may come from. Services, slices and workloads are read by
// watches of their own, which may be differently far, and a relist brings the slices in any order. So a state is a step
// of the chain of the Service, one of each slice, and one of each workload, and each of them only goes forward.
type table struct {
	target model.Target
	rules  chain[model.PortRule]
	*backends
}

// position is a state of a table: the number of the step of the rule, of each slice, and of each workload.
type position []int32

func (t *table) start() position { return make(position, 1+len(t.slices)+len(t.workloads)) }

func (t *table) sliceAt(p position, n int) *int32 { return &p[1+n] }

func (t *table) workloadAt(p position, n int32) *int32 { return &p[1+len(t.slices)+int(n)] }

// notAfter reports whether no part of p is after that of q.
func (p position) notAfter(q position) bool {
	for i := range p {
		if p[i] > q[i] {
			return false
		}
	}
	return true
}

// toldAddress is an address that a client knows, and its workload: numbers of a backends.
type toldAddress struct{ address, workload int32 }

// unheard is the number of a workload that no slice of the Service ever had.
const unheard int32 = -2

// question is what has to be explained.
type question struct {
	told []toldAddress
	// need are the addresses that the state must serve: all of told, or those that an update added if others may be about
	// to be removed.
	need []int32
	// until is when it was known; since is from when on the newer of two states must have been known.
	since, until time.Duration
}

// explain returns the earliest states, from a position on, in which all that is needed was served, and nothing but what
// was told. No result is after another one. There is none if no state explains it.
//
// If two slices have a workload under two addresses, the two need not agree on whether the workload exists.
func (t *table) explain(from position, q question) []position {
	var found []position
	t.ask(q)
	x := explainer{table: t, question: q, from: from}
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

// ask marks the addresses of a question.
func (t *table) ask(q question) {
	t.epoch++
	for _, a := range q.told {
		t.marks[a.address] = mark{epoch: t.epoch, workload: a.workload, bit: -1}
	}
	for i, n := range q.need {
		t.marks[n].bit = i
	}
}

// addEarliest adds a position, unless one is there that isn't after it, and drops those that are after it.
func addEarliest(list []position, p position) []position {
	for _, other := range list {
		if other.notAfter(p) {
			return list
		}
	}
	list = slices.DeleteFunc(list, func(other position) bool { return p.notAfter(other) })
	return append(list, p)
}

// explainer looks for explanations under one rule.
type explainer struct {
	*table
	question
	from position
	rule model.PortRule
}

// option is a step of a slice that says nothing wrong.
type option struct {
	step   int32
	covers bits    // which of the needed addresses it has
	raises []raise // which workloads have to be at a later step than from has them
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

// combine chooses an option for each slice, so that everything needed is covered.
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

// options returns the steps of a slice that say nothing wrong, without those that have no advantage over an earlier one.
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

// option looks at what a slice serves. ok is false if it serves what wasn't told.
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
		said := x.marks[numbers[i]]
		switch {
		case said.epoch != x.epoch:
			if !x.mustBe(&o, e, false) {
				return o, false
			}
		case said.workload == e.workload && x.mustBe(&o, e, true) && said.bit >= 0:
			o.covers.set(said.bit)
		}
	}
	return o, true
}

// mustBe demands that the workload of an endpoint exists, or that it doesn't. It reports whether that can be.
func (x *explainer) mustBe(o *option, e *endpoint, exist bool) bool {
	if e.workload == none {
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

// earliest returns the first step of a chain from one on, which was known in time, that is as wanted; -1 for none.
func earliest[T any](c chain[T], from int32, q question, wanted func(T) bool) int32 {
	for i := max(from, int32(c.at(q.since))); int(i) < c.known(q.until); i++ {
		if wanted(c[i].value) {
			return i
		}
	}
	return -1
}

// alwaysServed reports whether an address was served in each state from a position on, whatever the state of the others.
func (t *table) alwaysServed(at netip.AddrPort, from position, q question) bool {
	first, last := max(int(from[0]), t.rules.at(q.since)), t.rules.known(q.until)
	for r := first; r < last; r++ {
		if !t.alwaysIn(at, t.rules[r].value, from, q) {
			return false
		}
	}
	return true
}

// alwaysIn reports whether some slice has always had an address under a rule.
func (t *table) alwaysIn(at netip.AddrPort, rule model.PortRule, from position, q question) bool {
	for n, c := range t.slices {
		lacks := func(s *sliceState) bool { return !t.serves(s, at, rule, from, q) }
		if earliest(c, *t.sliceAt(from, n), q, lacks) < 0 {
			return true
		}
	}
	return false
}

// serves reports whether a slice has an address with a workload that has existed all the while.
func (t *table) serves(s *sliceState, at netip.AddrPort, rule model.PortRule, from position, q question) bool {
	if s == nil || rule.In(s.ports) != at.Port() {
		return false
	}
	return slices.ContainsFunc(s.endpoints, func(e endpoint) bool {
		if e.ip != at.Addr() || t.target.Hostname != "" && e.hostname != t.target.Hostname {
			return false
		}
		if e.workload == none {
			return true
		}
		missing := func(v existence) bool { return !v.has(e.uid) }
		return earliest(t.workloads[e.workload], *t.workloadAt(from, e.workload), q, missing) < 0
	})
}
