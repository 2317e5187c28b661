package publisher

import (
	"cmp"
	"container/heap"
	"strings"
)

// queue gives a name a ticket, unless it has one.
func (s *names) queue(n *nameState) {
	if n.ticket > 0 {
		return
	}
	n.namespace = s.namespaceOf(n.name)
	s.serials++
	n.ticket, n.serial = s.turns.draw(n.namespace), s.serials
}

// unqueue returns the ticket of a name.
func (s *names) unqueue(n *nameState) {
	if n.ticket > 0 {
		s.turns.giveBack(n.namespace)
		n.ticket = 0
	}
}

// next returns the dirty names whose turn it is, in order: all names that may lose record sets,
// because a budget has to know all deletions, and at most the given number of others.
func (s *names) next(limit int) []*nameState {
	in := &s.in[dirty]
	var next []*nameState
	for adding := 0; len(in.names) > 0; {
		if in.names[0].onlyAdds {
			if adding == limit {
				break
			}
			adding++
		}
		next = append(next, heap.Pop(in).(*nameState))
	}
	for _, n := range next {
		heap.Push(in, n)
	}
	return next
}

// take moves the names whose turn it is to the phase applying, up to the given numbers of names and
// of changes, but at least one name. Zero means no limit. Namespaces take turns. A name that has
// failed is taken alone, so that it can't make others fail.
func (s *names) take(maxNames, maxChanges int) []group {
	var taken []group
	for count := 0; len(s.in[planned].names) > 0; {
		n := s.in[planned].names[0]
		g := n.permitted
		count += g.size()
		if len(taken) > 0 && (n.failures > 0 || (maxNames > 0 && len(taken) == maxNames) || (maxChanges > 0 && count > maxChanges)) {
			break
		}
		taken = append(taken, g)
		s.turns.serve(n.ticket)
		s.move(n, applying)
		if n.failures > 0 {
			break
		}
	}
	return taken
}

// firstOutside returns the planned name whose turn it is among those of other than the given namespaces,
// or nil.
func (s *names) firstOutside(namespaces map[string]bool) *nameState {
	in := &s.in[planned]
	first := -1
	for i, n := range in.names {
		if !namespaces[n.namespace] && (first < 0 || in.Less(i, first)) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	return in.names[first]
}

// takeOutside is take for one name, of other than the given namespaces.
func (s *names) takeOutside(namespaces map[string]bool) []group {
	n := s.firstOutside(namespaces)
	if n == nil {
		return nil
	}
	s.turns.serve(n.ticket)
	s.move(n, applying)
	return []group{n.permitted}
}

// phaseHeap is a heap of the names in a phase. Planned names are ordered by ticket. Dirty names are
// too, but those that may lose record sets come first. Waiting names are ordered by time.
type phaseHeap struct {
	phase phase
	names []*nameState
}

func (x *phaseHeap) Len() int { return len(x.names) }

func (x *phaseHeap) Less(i, j int) bool {
	a, b := x.names[i], x.names[j]
	switch x.phase {
	case dirty:
		if a.onlyAdds != b.onlyAdds {
			return b.onlyAdds
		}
		return cmp.Or(cmp.Compare(a.ticket, b.ticket), cmp.Compare(a.serial, b.serial), strings.Compare(a.name, b.name)) < 0
	case planned:
		return cmp.Or(cmp.Compare(a.ticket, b.ticket), cmp.Compare(a.serial, b.serial)) < 0
	case waiting:
		return cmp.Or(a.next.Compare(b.next), strings.Compare(a.name, b.name)) < 0
	default:
		return false
	}
}

func (x *phaseHeap) Swap(i, j int) {
	x.names[i], x.names[j] = x.names[j], x.names[i]
	x.names[i].heapIndex, x.names[j].heapIndex = i, j
}

func (x *phaseHeap) Push(n any) {
	state := n.(*nameState)
	state.heapIndex = len(x.names)
	x.names = append(x.names, state)
}

func (x *phaseHeap) Pop() any {
	last := len(x.names) - 1
	n := x.names[last]
	x.names[last] = nil
	x.names = x.names[:last]
	return n
}
