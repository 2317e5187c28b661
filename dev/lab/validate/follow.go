package validate

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// follower checks the updates of one stream of Get, and tracks which states can explain the last one.
//
// A change is sent as an Add message and then a Remove message (docs/spec/destination.md §2.6). Between the
// two, a client knows a set of addresses that no state had. So after an Add there are two possibilities: the
// set is that of a state (settled), or a Remove must follow (pending).
type follower struct {
	*table
	*reader
	reporter
	troubles troubles

	opened    time.Duration
	responded bool
	known     map[string]knownAddress // all addresses reported so far
	settled   []position
	pending   []position // positions before the Add
	added     []string
	// unexplained is true if the last update has no explanation. The next one without explanation is not
	// reported.
	unexplained bool
	// stale is true if the last update was too old. The next one that is too old is not reported.
	stale bool
}

// updated checks an update.
func (f *follower) updated(at time.Duration, u *history.Stream) {
	if u.Problem != "" {
		f.report("V2", at, "an update contradicts those before: %s", u.Problem)
	}
	before := slices.Collect(maps.Keys(f.known))
	changed, problems := f.apply(u)
	if f.responded && !changed {
		f.report("V3", at, "an update says nothing new; an edit that clients can't see costs no message (docs/destination.md)")
	}
	for _, p := range problems {
		f.report("V2", at, "%s", p)
	}
	q := f.query(f.troubles.since(at), at+witnessDelay)
	if f.responded {
		f.nextUpdate(at, u, q, before)
	} else {
		f.firstUpdate(at, u, q)
	}
	f.responded = true
}

// firstUpdate checks the first update, which may show any state that isn't too old.
func (f *follower) firstUpdate(at time.Duration, u *history.Stream, q query) {
	f.settled = []position{f.start()}
	if len(u.Addresses) == 0 {
		f.checkExists(at, u.Exists, q)
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
	f.reportUnexplained(at, u, q, nil)
}

// checkExists checks what a client was told about whether the Service exists.
func (f *follower) checkExists(at time.Duration, exists bool, q query) {
	as := func(r model.PortRule) bool { return r.Exists == exists }
	if earliest(f.rules, 0, q, as) >= 0 {
		return
	}
	if exists {
		f.report("V2", at, "the Service is said to exist, and it doesn't")
		return
	}
	f.report("V4", at, "the Service is said not to exist, and it has existed all the while")
}

// nextUpdate checks an update after the first one.
func (f *follower) nextUpdate(at time.Duration, u *history.Stream, q query, known []string) {
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
		f.settled, f.pending, f.added, f.unexplained, f.stale = found, between, u.Added, false, false
		return
	}
	f.missing(at, q, known)
	f.reportUnexplained(at, u, q, before)
}

// retracts reports whether removed has an address that the last update added.
func (f *follower) retracts(removed []string) bool {
	return slices.ContainsFunc(f.added, func(a string) bool { return slices.Contains(removed, a) })
}

// from returns the explanations of an update from several positions.
func (f *follower) from(positions []position, q query) []position {
	var found []position
	for _, p := range positions {
		for _, next := range f.explain(p, q) {
			found = addEarliest(found, next)
		}
	}
	return bounded(found)
}

// maxPositions is the maximum number of explanations that are tracked.
const maxPositions = 64

// bounded replaces more than maxPositions positions by one that is before all of them. Later checks then find
// fewer errors, but no false ones.
func bounded(list []position) []position {
	if len(list) <= maxPositions {
		return list
	}
	return []position{meet(list)}
}

// between returns the positions from which some state has all added addresses, and perhaps not all of the
// others.
func (f *follower) between(before []position, u *history.Stream, q query) []position {
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

// reportUnexplained reports an update that no state after the positions explains.
func (f *follower) reportUnexplained(at time.Duration, u *history.Stream, q query, before []position) {
	anyTime := q
	anyTime.since = beforeAll
	if len(before) == 0 {
		before = []position{f.start()}
	}
	if found := f.from(before, anyTime); len(found) > 0 {
		if !f.stale {
			f.report("V1", at, "the update is older than %s allows: %s", maxStaleness, f.difference(q))
		}
		f.settled, f.pending, f.stale = found, nil, true
		return
	}
	f.settled, f.pending = before, nil
	if f.unexplained {
		return
	}
	f.unexplained = true
	start := []position{f.start()}
	if len(f.from(start, anyTime)) > 0 || len(u.Added) > 0 && len(f.between(start, u, anyTime)) > 0 {
		f.report("V3", at, "the update goes back in time, to a state before the one of an earlier one: %s", f.difference(q))
		return
	}
	f.report("V2", at, "no state had what was said: %s", f.difference(q))
}

// fail reports a wrong update, unless the one before was wrong too.
func (f *follower) fail(at time.Duration, message string) {
	if !f.unexplained {
		f.report("V2", at, "%s", message)
	}
	f.unexplained = true
}

// servedAt returns the addresses that slices served at a time.
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

// missing reports the suspects that are missing although they have been served in each state.
func (f *follower) missing(at time.Duration, q query, suspects []string) {
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
		f.report("V4", at, "the update lacks %s, served in each state since %s", some(slices.Compact(wrong)), max(0, q.since))
	}
}

// closed checks the end of a stream that had no update.
func (f *follower) closed(at time.Duration, problem string) {
	if f.responded || !strings.Contains(problem, "NotFound") {
		return
	}
	q := query{since: f.troubles.since(at), until: at + witnessDelay}
	if earliest(f.rules, 0, q, func(r model.PortRule) bool { return !r.Exists }) < 0 {
		f.report("V4", at, "the stream was refused because there is no such Service, and it has existed all the while: %.200s", problem)
	}
}

// quietEnds checks, before a fault begins, whether all changes have arrived.
func (f *follower) quietEnds(at time.Duration) {
	if !f.responded || f.unexplained || f.stale || at-f.opened < maxStaleness {
		return
	}
	q := f.query(at-maxStaleness, at+witnessDelay)
	if len(f.from(append(slices.Clone(f.settled), f.pending...), q)) == 0 {
		f.stale = true
		f.report("V1", at, "a change hasn't arrived within %s while nothing was broken: %s", maxStaleness, f.difference(q))
	}
}
