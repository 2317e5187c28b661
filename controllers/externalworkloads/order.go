package externalworkloads

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// moves maps each workload, by name, to its bin among the bins of an address type that are written. With it,
// an endpoint that moves to another slice is added there before it is removed here.
type moves map[string]*bin

func movesOf(bins []*bin) moves {
	m := moves{}
	for _, b := range bins {
		for i := range b.endpoints {
			m[target(&b.endpoints[i]).Name] = b
		}
	}
	return m
}

// leaves reports whether an endpoint of slice s, which b replaces, moves to another bin for which counts
// returns true.
func (m moves) leaves(s *discoveryv1.EndpointSlice, b *bin, counts func(*bin) bool) bool {
	return s != nil && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
		to := m[target(&e).Name]
		return to != nil && to != b && counts(to)
	})
}

// reusable returns the index of a slice that b may take over, or -1. A slice must stay while one of its
// endpoints is yet to be written elsewhere.
func (m moves) reusable(b *bin, unneeded []*discoveryv1.EndpointSlice) int {
	return slices.IndexFunc(unneeded, func(s *discoveryv1.EndpointSlice) bool {
		return !m.leaves(s, b, func(*bin) bool { return true })
	})
}

// sorted puts each bin after the bins that endpoints of its slice move to. If two bins exchange endpoints,
// there is no such order.
func (m moves) sorted(bins []*bin) []*bin {
	waits := make(map[*bin]bool, len(bins))
	for _, b := range bins {
		waits[b] = true
	}
	list := make([]*bin, 0, len(bins))
	for left := slices.Clone(bins); len(left) > 0; {
		i := max(0, slices.IndexFunc(left, func(b *bin) bool {
			return !m.leaves(b.slice, b, func(to *bin) bool { return waits[to] })
		}))
		list = append(list, left[i])
		delete(waits, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return list
}
