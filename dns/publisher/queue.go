package publisher

import (
	"slices"

	"github.com/signpostd/signpost/dns"
)

// group is the changes under one name. A provider gets all of them in one call.
type group struct {
	name    string
	changes []dns.Change
	// orphans are deletions of markers that describe nothing.
	orphans []dns.Change
}

// size returns the number of changes.
func (g group) size() int { return len(g.changes) + len(g.orphans) }

// lost returns how many record sets the group deletes for good. Nothing is lost if something
// is created under the same name.
func (g group) lost() int {
	lost := 0
	for _, c := range g.changes {
		switch {
		case c.Old == nil:
			return 0
		case c.New == nil:
			lost++
		}
	}
	return lost
}

// withoutLosses returns the group without its deletions.
func (g group) withoutLosses() group {
	var kept []dns.Change
	for _, c := range g.changes {
		if c.New != nil {
			kept = append(kept, c)
		}
	}
	g.changes = kept
	return g
}

// queue has the groups that wait to be applied, in the order in which they came, one for each
// name. A group is replaced by giving its name a new number; entries with an older number are
// skipped.
type queue struct {
	groups map[string]queued
	order  []queued
	next   int
}

type queued struct {
	group
	number int
}

func newQueue() queue { return queue{groups: map[string]queued{}} }

// put replaces the group of a name. A group without changes only removes it.
func (q *queue) put(g group) {
	delete(q.groups, g.name)
	if g.size() == 0 {
		return
	}
	q.next++
	entry := queued{group: g, number: q.next}
	q.groups[g.name] = entry
	if len(q.order) > 2*len(q.groups)+64 {
		q.order = slices.DeleteFunc(q.order, func(e queued) bool { return q.groups[e.name].number != e.number })
	}
	q.order = append(q.order, entry)
}

// ready reports whether the queue has a group.
func (q *queue) ready() bool { return len(q.groups) > 0 }

// take removes groups from the head: at most names groups with at most changes changes in all,
// but at least one group. Zero means no limit.
func (q *queue) take(names, changes int) []group {
	var taken []group
	count := 0
	for len(q.order) > 0 {
		head := q.order[0]
		if q.groups[head.name].number != head.number {
			q.order = q.order[1:]
			continue
		}
		count += head.size()
		if len(taken) > 0 && ((names > 0 && len(taken) == names) || (changes > 0 && count > changes)) {
			break
		}
		taken = append(taken, head.group)
		delete(q.groups, head.name)
		q.order = q.order[1:]
	}
	if len(q.order) == 0 {
		q.order = nil
	}
	return taken
}
