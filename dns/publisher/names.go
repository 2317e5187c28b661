package publisher

import (
	"container/heap"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
)

// phase is the step of a name on its way into its zone. The table shows the next phase for each
// event. An empty cell means that the event can't happen. "Requeue" is the flag for names whose
// wanted record sets have changed meanwhile.
//
//	event        settled  dirty    asking   planned  held     waiting  applying
//	touch        dirty    dirty    requeue  dirty    dirty    dirty    requeue
//	outdate      dirty    requeue  requeue  requeue  dirty    dirty    requeue
//	differ       dirty    dirty    –        dirty    dirty    dirty    –
//	ask                   asking
//	responded                      dirty
//	plan                  planned, held, settled; dirty if requeue
//	permit                                  held     planned
//	take                                    applying
//	propose                                                            settled
//	done, retry                                                         dirty
//	fail, refuse          waiting  waiting                             waiting; dirty if requeue
//	wait, repeat          waiting; dirty if requeue
//	due                                                       dirty
//	drop                  settled
//
// Some events:
//
//   - touch: the wanted record sets have changed.
//   - outdate: like touch, and the provider must be asked how it stores the record sets. A dirty
//     name that has a response is planned with it, because a name that is touched all the time
//     would never have a current one. A plan that deletes something is dropped, because the object
//     may exist again: the name becomes dirty instead.
//   - differ: the zone has changed.
//   - repeat: a plan was tried three times without effect ([names].repeats). No event makes the
//     same plan be tried before its time.
type phase int

const (
	// settled: nothing to do. A settled name without anything to report is forgotten.
	settled phase = iota
	// dirty: to be planned. If the provider is an Adjuster, it is asked first.
	dirty
	// asking: the provider is being asked how it stores the record sets.
	asking
	// planned: the changes wait for their turn.
	planned
	// held: the changes wait for an event: a source was read, the name was touched, an approval, or
	// free budget.
	held
	// waiting: a change failed or a deletion is delayed, and is tried at a certain time.
	waiting
	// applying: the changes are being made.
	applying
	phases
)

// String returns the phase as it is shown to users.
func (p phase) String() string {
	return [...]string{"settled", "dirty", "asking", "planned", "held", "waiting", "applying"}[p]
}

// names has the states of the names of a zone, except quiet ones. Its methods are the events. They
// don't call the provider and don't know the zone. It isn't safe for concurrent use.
type names struct {
	all map[string]*nameState
	in  [phases]phaseHeap
	// note is called with the planned changes of a name, or with none when they end. failing is the
	// number of names that have failed and not recovered since.
	note    func(name string, changes []dns.Change)
	failing int
	// trials are the plans that were tried since a listing last showed their names. repeated counts
	// those that were tried too often.
	trials   map[string]trial
	repeated int
	// turns issues tickets. serials counts them.
	turns   *turns
	serials uint64
	// namespaceOf returns the namespace whose turn a name uses. onlyAdds reports whether no record set
	// of a name is ours.
	namespaceOf func(name string) string
	onlyAdds    func(name string) bool
	// changed is called with each name whose phase or reason changes.
	changed func(name string)
}

func newNames(note func(name string, changes []dns.Change)) *names {
	s := &names{
		all: map[string]*nameState{}, trials: map[string]trial{}, note: note, changed: unnoticed, turns: &turns{users: map[string]*turn{}},
		namespaceOf: func(string) string { return "" }, onlyAdds: func(string) bool { return false },
	}
	for p := range s.in {
		s.in[p].phase = phase(p)
	}
	return s
}

// move puts a name into a phase. Nothing else changes a phase, an index or a count.
func (s *names) move(n *nameState, to phase) {
	s.changed(n.name)
	if n.heapIndex >= 0 {
		heap.Remove(&s.in[n.phase], n.heapIndex)
	}
	n.phase = to
	s.recount(n)
	switch {
	case to == dirty:
		// Other dirty names need no turn, because all of them are planned at once.
		if n.onlyAdds = s.onlyAdds(n.name); n.onlyAdds {
			s.queue(n)
		}
	case to == planned:
		s.queue(n)
	}
	if to == settled && n.quiet() {
		delete(s.all, n.name)
		n.heapIndex = -1
		return
	}
	heap.Push(&s.in[to], n)
}

// recount updates failing for a name.
func (s *names) recount(n *nameState) {
	switch failing := n.failures > 0; {
	case failing && !n.counted:
		s.failing++
	case !failing && n.counted:
		s.failing--
	}
	n.counted = n.failures > 0
}

// state returns the state of a name, and creates it if necessary.
func (s *names) state(name string) *nameState {
	n := s.all[name]
	if n == nil {
		n = &nameState{name: name, heapIndex: -1}
		s.all[name] = n
	}
	return n
}

// count returns how many names are in the given phases.
func (s *names) count(in ...phase) int {
	sum := 0
	for _, p := range in {
		sum += len(s.in[p].names)
	}
	return sum
}

func (s *names) sorted(in phase) []*nameState {
	list := slices.Clone(s.in[in].names)
	slices.SortFunc(list, func(a, b *nameState) int { return strings.Compare(a.name, b.name) })
	return list
}

// touch handles a change of the wanted record sets of a name.
func (s *names) touch(name string) {
	n := s.state(name)
	if n.phase == asking || n.phase == applying {
		n.requeue = true
		return
	}
	n.adjusted, n.requeue, n.failures = nil, false, 0
	s.setTrial(name, trial{})
	s.move(n, dirty)
}

// outdate handles a change of the wanted record sets of a name for which the provider has to be
// queried. An existing plan is applied first, unless it deletes something.
func (s *names) outdate(name string) {
	n := s.state(name)
	if n.phase == planned && !n.plan.deletes() || n.phase == dirty && n.adjusted != nil {
		n.requeue = true
		return
	}
	s.touch(name)
}

// differ handles a change of the zone's records of a name.
func (s *names) differ(name string) {
	n := s.state(name)
	if n.phase == asking || n.phase == applying {
		// The name is planned after the call in any case.
		return
	}
	n.failures = 0
	s.move(n, dirty)
}

// ask moves a dirty name to the phase asking.
func (s *names) ask(n *nameState) {
	n.requeue = false
	s.move(n, asking)
}

// responded sets the provider's response. A nil response is one for record sets that are no longer
// wanted.
func (s *names) responded(n *nameState, a *adjustedSets) {
	if n.adjusted = a; a == nil {
		n.requeue = false
	} else {
		n.recheck = a.recheck
	}
	s.move(n, dirty)
}

// replan replaces the plan of a name. All of it is permitted until permit is called.
func (s *names) replan(n *nameState, g group) {
	n.plan, n.permitted = g, g
	s.note(n.name, g.changes)
}

// planned sets the plan of a dirty name, and moves the name to the phase that follows from it.
func (s *names) planned(n *nameState, g group) {
	s.replan(n, g)
	switch {
	case n.requeue && g.deletes():
		s.touch(n.name)
	case g.size() > 0:
		s.move(n, planned)
	default:
		s.park(n, settled)
	}
}

// hold drops the plan of a dirty name until an event.
func (s *names) hold(n *nameState) {
	s.replan(n, group{name: n.name})
	s.park(n, held)
}

// park moves a name without due changes to a phase in which it stays. If it has been touched
// meanwhile, it becomes dirty.
func (s *names) park(n *nameState, in phase) {
	s.unqueue(n)
	n.adjusted = nil
	if n.requeue {
		n.requeue, in = false, dirty
	}
	s.move(n, in)
}

// settle clears the failures of a name that needs no changes.
func (s *names) settle(n *nameState) {
	n.stale, n.failures, n.next, n.unseen = false, 0, time.Time{}, nil
}

// setReason sets why the wanted record sets of a name aren't published. An empty reason means that
// they are, or will be.
func (s *names) setReason(n *nameState, reason, message string) {
	if n.reason != reason || n.message != message {
		s.changed(n.name)
	}
	n.reason, n.message = reason, message
}

// contest records which candidates of a name lose to others, and which the provider refuses.
func (s *names) contest(n *nameState, lost map[candidateID]string, refused map[candidateID]error) {
	if !maps.Equal(n.lost, lost) || len(refused)+len(n.refused) > 0 {
		s.changed(n.name)
	}
	n.lost, n.refused = lost, refused
}

// permit sets the permitted changes of a planned or held name. All others are held.
func (s *names) permit(n *nameState, permitted []dns.Change) {
	n.permitted = group{name: n.name, changes: permitted, orphans: n.plan.orphans}
	if n.permitted.size() == 0 {
		s.park(n, held)
		return
	}
	s.move(n, planned)
}

// propose records the changes that a dry run would have made.
func (s *names) propose(n *nameState, g group) {
	n.proposed = g
	s.park(n, settled)
}

// done handles a success: all changes of a name were made. The name is planned again, because more
// may be left to do.
func (s *names) done(n *nameState) {
	n.decided(n.permitted.changes)
	s.replan(n, group{name: n.name})
	s.settle(n)
	s.retry(n)
}

// retry plans a name again at once.
func (s *names) retry(n *nameState) {
	s.unqueue(n)
	if n.requeue {
		n.requeue, n.adjusted = false, nil
	}
	s.move(n, dirty)
}

// retryAsNew is retry for a name whose whole batch was out of date, so that the name may not be the
// cause.
func (s *names) retryAsNew(n *nameState) {
	n.stale = false
	s.retry(n)
}

// fail delays a name after a failure.
func (s *names) fail(n *nameState, until time.Time, message string) {
	s.unqueue(n)
	n.adjusted = nil
	n.reason, n.message = ReasonError, message
	if n.requeue {
		// The failed record sets are no longer the wanted ones.
		n.requeue, n.failures = false, 0
		s.move(n, dirty)
		return
	}
	n.failures++
	n.next = until
	s.move(n, waiting)
}

// refuse delays a name for which no change is possible.
func (s *names) refuse(n *nameState, until time.Time, message string) {
	s.replan(n, group{name: n.name})
	s.fail(n, until, message)
}

// wait delays a dirty name until a time.
func (s *names) wait(n *nameState, until time.Time) {
	s.replan(n, group{name: n.name})
	n.next = until
	s.park(n, waiting)
}

// noteLoss records that record sets of a name are to be deleted, and returns since when.
func (s *names) noteLoss(n *nameState, now time.Time) time.Time {
	if n.lossSince.IsZero() {
		n.lossSince = now
	}
	return n.lossSince
}

// clearLoss records that no record set of a name is to be deleted.
func (s *names) clearLoss(n *nameState) { n.lossSince = time.Time{} }

// stillLosing reports whether any deletion that was pending at the given time is still delayed.
func (s *names) stillLosing(at time.Time) bool {
	for _, n := range s.all {
		if n.phase == waiting && !n.lossSince.IsZero() && !n.lossSince.After(at) {
			return true
		}
	}
	return false
}

// due retries the waiting names whose delay is over.
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

// drop forgets a name that isn't managed. Its running calls continue.
func (s *names) drop(n *nameState) {
	if n.phase == asking || n.phase == applying {
		n.requeue = true
		return
	}
	if n.heapIndex >= 0 {
		heap.Remove(&s.in[n.phase], n.heapIndex)
	}
	s.setTrial(n.name, trial{})
	s.unqueue(n)
	*n = nameState{name: n.name, heapIndex: -1, counted: n.counted}
	s.note(n.name, nil)
	s.move(n, settled)
}

// release plans the held names again.
func (s *names) release() {
	for _, n := range s.sorted(held) {
		s.touch(n.name)
	}
}

// listed handles a listing of the zone. Proposals of a dry run are planned again, and so are names
// with orphaned ownership records that enough listings have shown.
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

// orphan counts the listings that showed orphaned ownership records of a name. It reports whether
// enough have.
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

// attempt records the record sets of a group that may have been created. Those with keys in made
// are known to be ours.
func (s *names) attempt(n *nameState, g group, made map[dns.Key]struct{}) {
	var known []dns.Change
	for _, c := range g.changes {
		switch _, ok := made[c.RecordSet().Key()]; {
		case ok:
			known = append(known, c)
		case c.Old == nil:
			n.attempts, n.disowned = append(n.attempts, c.New), nil
		}
	}
	n.decided(known)
}

// vanish records which of our record sets a listing no longer shows.
func (s *names) vanish(name string, sets []*dns.RecordSet) {
	if n := s.all[name]; n != nil {
		n.addUnseen(sets)
	}
}

// disown handles a listing of the zone. there are the listed record sets of the name, and removals the
// deletions of ownership records that must be made first. An attempt is decided when a listing shows
// its record set, or when two listings don't.
func (s *names) disown(n *nameState, there []*dns.RecordSet, removals []dns.Change) {
	n.addUnseen(n.attempts)
	n.unlisted = slices.DeleteFunc(n.attempts, func(a *dns.RecordSet) bool {
		return slices.ContainsFunc(there, func(r *dns.RecordSet) bool { return r.Key() == a.Key() })
	})
	n.attempts = nil
	if len(removals) > 0 {
		n.disowned = removals
		s.differ(n.name)
		return
	}
	s.move(n, n.phase)
}

// ownershipGone records that a listing shows none of the ownership records in disowned.
func (s *names) ownershipGone(n *nameState) {
	n.disowned = nil
	s.move(n, n.phase)
}

// outdated records that the changes of a name were out of date. It reports whether that is the
// first time.
func (s *names) outdated(n *nameState) bool {
	first := !n.stale
	n.stale = true
	return first
}
