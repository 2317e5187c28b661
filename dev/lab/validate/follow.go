package validate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// follower reads the updates of one stream of Get, and knows which states may be behind the last one.
//
// A difference is told by one message that adds and then one that removes (docs/spec/destination.md §2.6). Between the two,
// a client knows a set that no state had. So after an addition there are two ways to go on: the set was that of a state
// (settled), or a removal must follow (pending).
type follower struct {
	*table
	*reader
	subject  string
	troubles troubles

	opened   time.Duration
	answered bool
	known    map[string]knownAddress // everything said so far
	settled  []position
	pending  []position // before the addition
	added    []string
	// lost is whether the last answer has no explanation; a second one without is not said again.
	lost bool
	// late is the same for an answer that is too old.
	late bool

	findings []Finding
}

func (f *follower) object(validator string, at time.Duration, format string, args ...any) {
	f.findings = append(f.findings, Finding{Validator: validator, At: at, Subject: f.subject, Message: fmt.Sprintf(format, args...)})
}

// updated judges an answer.
func (f *follower) updated(at time.Duration, u *history.Stream) {
	if u.Problem != "" {
		f.object("V2", at, "an update contradicts those before: %s", u.Problem)
	}
	before := slices.Collect(maps.Keys(f.known))
	news, problems := f.apply(u)
	if f.answered && !news {
		f.object("V3", at, "an update says nothing new; an edit that clients can't see costs no message (docs/destination.md)")
	}
	for _, p := range problems {
		f.object("V2", at, "%s", p)
	}
	q := f.asked(f.troubles.since(at), at+witnessDelay)
	if f.answered {
		f.next(at, u, q, before)
	} else {
		f.first(at, u, q)
	}
	f.answered = true
}

// first judges the first answer, which may be any state that isn't too old.
func (f *follower) first(at time.Duration, u *history.Stream, q question) {
	f.settled = []position{f.start()}
	if len(u.Addresses) == 0 {
		f.saidToExist(at, u.Exists, q)
	}
	if found := f.from(f.settled, q); len(found) > 0 {
		f.settled = found
		return
	}
	var served []string
	for _, a := range f.servedAt(q.since) {
		served = append(served, a.String())
	}
	f.missing(at, q, served)
	f.unexplained(at, u, q, nil)
}

// saidToExist judges whether a Service was rightly said to exist or not.
func (f *follower) saidToExist(at time.Duration, exists bool, q question) {
	as := func(r model.PortRule) bool { return r.Exists == exists }
	if earliest(f.rules, 0, q, as) >= 0 {
		return
	}
	if exists {
		f.object("V2", at, "the Service is said to exist, and it doesn't")
		return
	}
	f.object("V4", at, "the Service is said not to exist, and it has existed all the while")
}

// next judges an answer after the first.
func (f *follower) next(at time.Duration, u *history.Stream, q question, known []string) {
	before := f.settled
	if len(u.Added) == 0 && !f.retracts(u.Removed) {
		before = append(slices.Clone(before), f.pending...)
	} else if len(f.settled) == 0 {
		f.fail(at, "the addition before was not followed by a removal, and no state has what was known in between")
		before = f.pending
	}
	found := f.from(before, q)
	var between []position
	if len(u.Added) > 0 && len(u.Removed) == 0 {
		between = f.between(before, u, q)
	}
	if len(found)+len(between) > 0 {
		f.settled, f.pending, f.added, f.lost, f.late = found, between, u.Added, false, false
		return
	}
	f.missing(at, q, known)
	f.unexplained(at, u, q, before)
}

// retracts reports whether one of these addresses was added by the last update.
func (f *follower) retracts(removed []string) bool {
	return slices.ContainsFunc(f.added, func(a string) bool { return slices.Contains(removed, a) })
}

// from explains an answer from several positions.
func (f *follower) from(positions []position, q question) []position {
	var found []position
	for _, p := range positions {
		for _, next := range f.explain(p, q) {
			found = addEarliest(found, next)
		}
	}
	return bounded(found)
}

// maxPositions bounds how many explanations are followed.
const maxPositions = 64

// bounded replaces very many positions by one that is before all of them: then less is noticed, and nothing wrong.
func bounded(list []position) []position {
	if len(list) <= maxPositions {
		return list
	}
	return []position{meet(list)}
}

// between returns the positions from which there is a state that has what was added and, of the rest, perhaps less.
func (f *follower) between(before []position, u *history.Stream, q question) []position {
	q.need = nil
	for _, at := range u.Added {
		if k, ok := f.known[at]; ok && !slices.Contains(q.need, k.address) {
			q.need = append(q.need, k.address)
		}
	}
	var positions []position
	for _, p := range before {
		if len(f.explain(p, q)) > 0 {
			positions = addEarliest(positions, p)
		}
	}
	return positions
}

// unexplained says what is wrong with an answer that no state after the positions explains.
func (f *follower) unexplained(at time.Duration, u *history.Stream, q question, before []position) {
	anyTime := q
	anyTime.since = beforeAll
	if len(before) == 0 {
		before = []position{f.start()}
	}
	if found := f.from(before, anyTime); len(found) > 0 {
		if !f.late {
			f.object("V1", at, "the answer is older than %s allows: %s", fresh, f.difference(q))
		}
		f.settled, f.pending, f.late = found, nil, true
		return
	}
	f.settled, f.pending = before, nil
	if f.lost {
		return
	}
	f.lost = true
	start := []position{f.start()}
	if len(f.from(start, anyTime)) > 0 || len(u.Added) > 0 && len(f.between(start, u, anyTime)) > 0 {
		f.object("V3", at, "the answer goes back in time, to a state before the one of an earlier answer: %s", f.difference(q))
		return
	}
	f.object("V2", at, "no state had what was said: %s", f.difference(q))
}

// fail says once that an answer is wrong.
func (f *follower) fail(at time.Duration, message string) {
	if !f.lost {
		f.object("V2", at, "%s", message)
	}
	f.lost = true
}

// servedAt returns what slices served at a time.
func (t *table) servedAt(when time.Duration) []netip.AddrPort {
	var out []netip.AddrPort
	rule := t.rules[t.rules.at(when)].value
	for _, c := range t.slices {
		s := c[c.at(when)].value
		if s == nil || rule.In(s.ports) == 0 {
			continue
		}
		for _, e := range s.endpoints {
			out = append(out, netip.AddrPortFrom(e.ip, rule.In(s.ports)))
		}
	}
	return out
}

// missing objects to those of some addresses that are missing and have been served all the while.
func (f *follower) missing(at time.Duration, q question, suspects []string) {
	from := f.start()
	if all := append(slices.Clone(f.settled), f.pending...); len(all) > 0 {
		from = meet(all)
	}
	var wrong []string
	for _, text := range suspects {
		a, err := netip.ParseAddrPort(text)
		if _, still := f.known[text]; err == nil && !still && f.alwaysServed(a, from, q) {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		f.object("V4", at, "the answer lacks %s, served in each state since %s", some(slices.Compact(wrong)), max(0, q.since))
	}
}

// closed judges the end of a stream that had no answer.
func (f *follower) closed(at time.Duration, problem string) {
	if f.answered || !strings.Contains(problem, "NotFound") {
		return
	}
	q := question{since: f.troubles.since(at), until: at + witnessDelay}
	if earliest(f.rules, 0, q, func(r model.PortRule) bool { return !r.Exists }) < 0 {
		f.object("V4", at, "the stream was refused because there is no such Service, and it has existed all the while: %.200s", problem)
	}
}

// quietEnds judges at the end of a quiet time whether all changes had arrived.
func (f *follower) quietEnds(at time.Duration) {
	if !f.answered || f.lost || f.late || at-f.opened < fresh {
		return
	}
	q := f.asked(at-fresh, at+witnessDelay)
	if len(f.from(append(slices.Clone(f.settled), f.pending...), q)) == 0 {
		f.late = true
		f.object("V1", at, "a change hasn't arrived within %s while nothing was broken: %s", fresh, f.difference(q))
	}
}
