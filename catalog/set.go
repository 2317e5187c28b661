package catalog

import (
	"maps"
	"slices"
)

// smallSet is the largest number of values that a [set] keeps in a list.
const smallSet = 64

// set is a set of values in no order. Most sets are small: a list needs less memory than a map. A tenant or a
// linked cluster can make any of them large, so that adding and removing must not take time in proportion to
// the size: others wait for it. The zero set is empty.
type set[V comparable] struct {
	small []V
	large map[V]struct{} // nil while the set is small
}

func (s *set[V]) add(v V) {
	switch {
	case s.large != nil:
		s.large[v] = struct{}{}
	case slices.Contains(s.small, v):
	case len(s.small) < smallSet:
		s.small = append(s.small, v)
	default:
		s.large = make(map[V]struct{}, 2*smallSet)
		for _, other := range s.small {
			s.large[other] = struct{}{}
		}
		s.large[v] = struct{}{}
		s.small = nil
	}
}

func (s *set[V]) remove(v V) {
	if s.large == nil {
		s.small = slices.DeleteFunc(s.small, func(other V) bool { return other == v })
		return
	}
	delete(s.large, v)
	if len(s.large) <= smallSet/2 {
		s.small, s.large = slices.Collect(maps.Keys(s.large)), nil
	}
}

func (s *set[V]) len() int { return len(s.small) + len(s.large) }

// list returns the values. The caller doesn't change the list.
func (s *set[V]) list() []V {
	if s.large == nil {
		return s.small
	}
	return slices.Collect(maps.Keys(s.large))
}

// addTo adds v to the set of a key, and removeFrom removes it. A key without values has no set.
func addTo[K, V comparable](m map[K]set[V], k K, v V) {
	s := m[k]
	s.add(v)
	m[k] = s
}

func removeFrom[K, V comparable](m map[K]set[V], k K, v V) {
	s, ok := m[k]
	if !ok {
		return
	}
	if s.remove(v); s.len() == 0 {
		delete(m, k)
		return
	}
	m[k] = s
}

// valuesOf returns the values of a key. The caller doesn't change the list.
func valuesOf[K, V comparable](m map[K]set[V], k K) []V {
	s := m[k]
	return s.list()
}
