package membership

import (
	"iter"
	"slices"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// equal compares the contents only if the labels are not the same in memory.
func equal(a, b objectmeta.Labels) bool {
	return identityOf(a) == identityOf(b) || slices.Equal(a, b)
}

// union returns the names that are in either list. The result may be one of the lists.
func union(before, after []string) []string {
	if sameMemory(before, after) {
		return after // the usual case
	}
	if isEvery(before) || isEvery(after) {
		return every
	}
	gone := without(before, after)
	if len(gone) == 0 {
		return after
	}
	return slices.Concat(after, gone)
}

// difference returns the names that are in one of the lists only.
func difference(before, after []string) []string {
	if isEvery(before) || isEvery(after) {
		return every
	}
	if sameMemory(before, after) {
		return nil
	}
	return append(without(after, before), without(before, after)...)
}

func sameMemory(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// without returns a new list of the names in list that are not excluded.
func without(list, excluded []string) []string {
	if len(excluded) > fewNames {
		names := make(map[string]struct{}, len(excluded))
		for _, name := range excluded {
			names[name] = struct{}{}
		}
		return withoutAny(list, func(name string) bool { _, found := names[name]; return found })
	}
	return withoutAny(list, func(name string) bool { return slices.Contains(excluded, name) })
}

// fewNames is how many names are found faster in a list than in a map.
const fewNames = 16

// withoutAny returns a new list of the names in list for which excluded returns false.
func withoutAny(list []string, excluded func(string) bool) []string {
	var left []string
	for _, name := range list {
		if !excluded(name) {
			left = append(left, name)
		}
	}
	return left
}

// set is a set of pointers that allocates nothing for one value, because most sets have one. The zero value
// is an empty set.
type set[T any] struct {
	// one is one of the values, or nil.
	one *T
	// rest has the other values, possibly some while one is nil.
	rest map[*T]struct{}
}

// add adds a value that is not in the set.
func (s *set[T]) add(value *T) {
	switch {
	case s.one == nil:
		s.one = value
	case s.rest == nil:
		s.rest = map[*T]struct{}{value: {}}
	default:
		s.rest[value] = struct{}{}
	}
}

// remove does nothing if the value is not in the set.
func (s *set[T]) remove(value *T) {
	if s.one == value {
		s.one = nil
		return
	}
	delete(s.rest, value)
	if len(s.rest) == 0 {
		s.rest = nil
	}
}

func (s set[T]) size() int {
	if s.one == nil {
		return len(s.rest)
	}
	return 1 + len(s.rest)
}

// all returns the values, in no particular order.
func (s set[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		if s.one != nil && !yield(s.one) {
			return
		}
		for v := range s.rest {
			if !yield(v) {
				return
			}
		}
	}
}

func add[T any](sets map[objectmeta.Label]set[T], label objectmeta.Label, value *T) {
	s := sets[label]
	s.add(value)
	sets[label] = s
}

// remove undoes add. Empty sets are removed.
func remove[T any](sets map[objectmeta.Label]set[T], label objectmeta.Label, value *T) {
	s, ok := sets[label]
	if !ok {
		return
	}
	s.remove(value)
	if s.size() == 0 {
		delete(sets, label)
		return
	}
	sets[label] = s
}
