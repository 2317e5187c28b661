package publisher

import (
	"container/heap"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
)

// phase is where a name is on its way into its zone. Each event moves a name as the table says;
// where it says nothing, the event can't come. "Again" is for names that objects have asked
// for differently meanwhile.
//
//	event        settled  dirty    asking   planned  held     waiting  applying
//	touch        dirty    dirty    again    dirty    dirty    dirty    again
//	outdate      dirty    again    again    again    dirty    dirty    again
//	differ       dirty    dirty    –        dirty    dirty    dirty    –
//	ask                   asking
//	answer                         dirty
//	plan                  planned, held, settled; dirty when again
//	pare                                    held     planned
//	take                                    applying
//	propose                                                            settled
//	done, retry                                                         dirty
//	fail, refuse          waiting  waiting                             waiting; dirty when again
//	wait, repeat          waiting; dirty when again
//	due                                                       dirty
//	drop                  settled
//
// Touch is for another wish of objects, outdate for one about which the provider has to be
// asked, differ for a difference in the zone. A dirty name that has an answer is planned with
// it; if it is touched all the time, no answer is ever up to date. Repeat is for a plan that was
// tried three times without an effect ([names].repeats): whatever moves a name, the same plan isn't tried again before its time.
type phase int

const (
	// settled: there is nothing to do. Names about which there is nothing to say either are
	// forgotten.
	settled phase = iota
	// dirty: it has to be planned; first the provider is asked about it, if it adjusts.
	dirty
	// asking: the provider is being asked what it stores.
	asking
	// planned: its changes wait for their turn.
	planned
	// held: its changes wait for an event: a source that is read, a name that is touched, an
	// approval, or room in the budget.
	held
	// waiting: a change failed, or a loss isn't due yet, and is tried at a certain time.
	waiting
	// applying: its changes are being made.
	applying
	phases
)

// String returns the word for a phase that people are shown.
func (p phase) String() string {
	return [...]string{"settled", "dirty", "asking", "planned", "held", "waiting", "applying"}[p]
}

// names has the states of the names of a zone that have one. Its methods are the events; they
// call no provider and know no zone. It isn't safe for concurrent use.
type names struct {
	all map[string]*nameState
	in  [phases]index
	// note is called with the changes of a name when they are planned, with none when there are
	// none any more. failing is how many names have failed and not been mended since.
	note    func(name string, changes []dns.Change)
	failing int
	// trials has the plans that were tried since listings have shown their names, and repeated is how many
	// of them were tried too often.
	trials   map[string]trial
	repeated int
	// turns gives tickets, serials counts them.
	turns   *turns
	serials uint64
	// namespaceOf returns whose turn a name uses. adds reports whether the zone has nothing of ours under a name.
	namespaceOf func(name string) string
	adds        func(name string) bool
	// changed is called with each name whose phase or reason changes.
	changed func(name string)
}

func newNames(note func(name string, changes []dns.Change)) *names {
	s := &names{
		all: map[string]*nameState{}, trials: map[string]trial{}, note: note, changed: unnoticed, turns: newTurns(),
		namespaceOf: func(string) string { return "" }, adds: func(string) bool { return false },
	}
	for p := range s.in {
		s.in[p].phase = phase(p)
	}
	return s
}

// move puts a name into a phase. Nothing else changes a phase, an index or a count.
func (s *names) move(n *nameState, to phase) {
	s.changed(n.name)
	if n.place >= 0 {
		heap.Remove(&s.in[n.phase], n.place)
	}
	n.phase = to
	s.recount(n)
	switch {
	case to == dirty:
		// Other dirty names need no turn: all of them are planned at once.
		if n.adds = s.adds(n.name); n.adds {
			s.queue(n)
		}
	case to == planned:
		s.queue(n)
	}
	if to == settled && n.quiet() {
		delete(s.all, n.name)
		n.place = -1
		return
	}
	heap.Push(&s.in[to], n)
}

// recount counts a name that has failed.
func (s *names) recount(n *nameState) {
	switch failing := n.failures > 0; {
	case failing && !n.counted:
		s.failing++
	case !failing && n.counted:
		s.failing--
	}
	n.counted = n.failures > 0
}

// state returns the state of a name, and makes it if there is none.
func (s *names) state(name string) *nameState {
	n := s.all[name]
	if n == nil {
		n = &nameState{name: name, place: -1}
		s.all[name] = n
	}
	return n
}

// count returns how many names are in some phases.
func (s *names) count(in ...phase) int {
	sum := 0
	for _, p := range in {
		sum += len(s.in[p].names)
	}
	return sum
}

// sorted returns the names that are in a phase, by name.
func (s *names) sorted(in phase) []*nameState {
	list := slices.Clone(s.in[in].names)
	slices.SortFunc(list, func(a, b *nameState) int { return strings.Compare(a.name, b.name) })
	return list
}

// touch notes that objects ask for something else.
func (s *names) touch(name string) {
	n := s.state(name)
	if n.phase == asking || n.phase == applying {
		n.again = true
		return
	}
	n.adjusted, n.again, n.failures = nil, false, 0
	s.setTrial(name, trial{})
	s.move(n, dirty)
}

// outdate notes that objects ask for something else, about which the provider has to be asked.
// What is planned is made before.
func (s *names) outdate(name string) {
	n := s.state(name)
	if n.phase == planned || n.phase == dirty && n.adjusted != nil {
		n.again = true
		return
	}
	s.touch(name)
}

// differ notes that the zone has something else under a name than before.
func (s *names) differ(name string) {
	n := s.state(name)
	if n.phase == asking || n.phase == applying {
		// It is planned afterwards in any case.
		return
	}
	n.failures = 0
	s.move(n, dirty)
}

// ask notes that the provider is being asked about a dirty name.
func (s *names) ask(n *nameState) {
	n.again = false
	s.move(n, asking)
}

// answer notes what the provider stores. An answer that says nothing about what objects ask for
// by now is nil.
func (s *names) answer(n *nameState, a *adjustedSets) {
	if n.adjusted = a; a == nil {
		n.again = false
	}
	s.move(n, dirty)
}

// replan replaces the changes that a name needs.
func (s *names) replan(n *nameState, g group) {
	n.plan, n.permitted, n.pared = g, group{}, false
	s.note(n.name, g.changes)
}

// planned notes what a dirty name needs.
func (s *names) planned(n *nameState, g group) {
	s.replan(n, g)
	if g.size() > 0 {
		s.move(n, planned)
		return
	}
	s.rest(n, settled)
}

// hold notes that what a dirty name needs has to wait for an event.
func (s *names) hold(n *nameState) {
	s.replan(n, group{name: n.name})
	s.rest(n, held)
}

// rest moves a name for which there is nothing to do to a phase in which it stays, unless it
// has been touched meanwhile.
func (s *names) rest(n *nameState, in phase) {
	s.unqueue(n)
	n.adjusted = nil
	if n.again {
		n.again, in = false, dirty
	}
	s.move(n, in)
}

// settle ends the failures of a name that needs no changes.
func (s *names) settle(n *nameState) {
	n.stale, n.failures, n.next, n.unseen = false, 0, time.Time{}, nil
}

// explain sets why a name isn't as objects ask for; without a reason it is, or will be.
func (s *names) explain(n *nameState, reason, message string) {
	if n.reason != reason || n.message != message {
		s.changed(n.name)
	}
	n.reason, n.message = reason, message
}

// contest sets which candidates of a name aren't published because of others, and which the provider
// refuses.
func (s *names) contest(n *nameState, lost map[candidateID]string, refused map[candidateID]error) {
	if !maps.Equal(n.lost, lost) || len(refused)+len(n.refused) > 0 {
		s.changed(n.name)
	}
	n.lost, n.refused = lost, refused
}

// pare has all changes of a planned or held name wait but those that are permitted.
func (s *names) pare(n *nameState, permitted []dns.Change) {
	n.permitted = group{name: n.name, changes: permitted, orphans: n.plan.orphans}
	n.pared = n.permitted.size() < n.plan.size()
	if n.due().size() == 0 {
		s.rest(n, held)
		return
	}
	s.move(n, planned)
}

// propose notes that the changes of a name would have been made, if this were no dry run.
func (s *names) propose(n *nameState, g group) {
	n.proposed = g
	s.rest(n, settled)
}

// done notes that all changes of a name were made. It is planned once more, which shows whether
// anything is left to do.
func (s *names) done(n *nameState) {
	n.attempts = nil
	s.replan(n, group{name: n.name})
	s.settle(n)
	s.retry(n)
}

// retry has a name planned again at once.
func (s *names) retry(n *nameState) {
	s.unqueue(n)
	if n.again {
		n.again, n.adjusted = false, nil
	}
	s.move(n, dirty)
}

// retryAsNew is retry for a name whose changes were out of date together with those of others.
func (s *names) retryAsNew(n *nameState) {
	n.stale = false
	s.retry(n)
}

// fail lets a name wait after a failure.
func (s *names) fail(n *nameState, until time.Time, message string) {
	s.unqueue(n)
	n.adjusted = nil
	n.reason, n.message = ReasonError, message
	if n.again {
		// What failed is not what objects ask for now.
		n.again, n.failures = false, 0
		s.move(n, dirty)
		return
	}
	n.failures++
	n.next = until
	s.move(n, waiting)
}

// refuse lets a name wait for which there are no changes that could be made.
func (s *names) refuse(n *nameState, until time.Time, message string) {
	s.replan(n, group{name: n.name})
	s.fail(n, until, message)
}

// wait lets a dirty name wait until it may lose record sets.
func (s *names) wait(n *nameState, until time.Time) {
	s.replan(n, group{name: n.name})
	n.next = until
	s.rest(n, waiting)
}

// loses notes that a name is to lose record sets, and returns since when.
func (s *names) loses(n *nameState, now time.Time) time.Time {
	if n.losing.IsZero() {
		n.losing = now
	}
	return n.losing
}

// keeps notes that a name isn't to lose anything.
func (s *names) keeps(n *nameState) { n.losing = time.Time{} }

// losingSince reports whether there is a name that was to lose record sets at a time, and still is.
func (s *names) losingSince(at time.Time) bool {
	for _, n := range s.all {
		if n.phase == waiting && !n.losing.IsZero() && !n.losing.After(at) {
			return true
		}
	}
	return false
}

// due has the names tried again whose time has come.
func (s *names) due(now time.Time) {
	for len(s.in[waiting].names) > 0 {
		n := s.in[waiting].names[0]
		if now.Before(n.next) {
			return
		}
		n.next = time.Time{}
		s.move(n, dirty)
	}
}

// drop forgets a name that is none of our business; calls about it go on.
func (s *names) drop(n *nameState) {
	if n.phase == asking || n.phase == applying {
		n.again = true
		return
	}
	if n.place >= 0 {
		heap.Remove(&s.in[n.phase], n.place)
	}
	s.setTrial(n.name, trial{})
	s.unqueue(n)
	*n = nameState{name: n.name, place: -1, counted: n.counted}
	s.note(n.name, nil)
	s.move(n, settled)
}

// release has the held names planned again.
func (s *names) release() {
	for _, n := range s.sorted(held) {
		s.touch(n.name)
	}
}

// listed notes that the zone has been read. What a dry run has proposed is planned again, and so
// are markers that describe nothing when enough listings have shown them.
func (s *names) listed() {
	for _, n := range s.all {
		if n.orphaned > 0 {
			n.orphaned++
		}
		if n.proposed.size() > 0 || n.orphaned > orphanListings {
			n.proposed = group{}
			s.touch(n.name)
		}
	}
}

// orphan counts that a look at the zone has shown markers of a name that describe nothing, or
// none. It reports whether enough listings have.
func (s *names) orphan(n *nameState, found int) bool {
	switch {
	case found == 0:
		n.orphaned = 0
	case n.orphaned > orphanListings:
		n.orphaned = 0
		return true
	case n.orphaned == 0:
		n.orphaned = 1
	}
	return false
}

// attempt notes record sets of which it isn't known whether they were created. Those with the
// keys in made are known to be ours now.
func (s *names) attempt(n *nameState, g group, made map[dns.Key]struct{}) {
	known := func(r *dns.RecordSet) bool {
		_, known := made[r.Key()]
		return known
	}
	n.attempts = slices.DeleteFunc(n.attempts, known)
	for _, c := range g.changes {
		if c.Old == nil && !known(c.New) {
			n.attempts = append(n.attempts, c.New)
		}
	}
}

// vanish notes record sets of ours that a listing doesn't show any more, of a name that has a
// state on account of that.
func (s *names) vanish(name string, sets []*dns.RecordSet) {
	if n := s.all[name]; n != nil {
		n.miss(sets)
	}
}

// disown notes the deletions of markers that have to go before anything else is done. Without
// any, it notes that the attempts were looked at.
func (s *names) disown(n *nameState, unmark []dns.Change) {
	n.miss(n.attempts)
	n.attempts = nil
	if len(unmark) > 0 {
		n.disowned = unmark
		s.differ(n.name)
		return
	}
	s.move(n, n.phase)
}

// unmarked notes that the markers are gone that had to go.
func (s *names) unmarked(n *nameState) { n.disowned = nil }

// outdated notes that the changes of a name were out of date. It reports whether that is the
// first time.
func (s *names) outdated(n *nameState) bool {
	first := !n.stale
	n.stale = true
	return first
}

// leave forgets the names of which a function says so.
func (s *names) leave(goes func(name string) bool) {
	for name, n := range s.all {
		if goes(name) {
			s.drop(n)
		}
	}
}
