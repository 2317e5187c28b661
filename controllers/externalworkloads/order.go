package externalworkloads

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// moves maps each workload, by name, to its bin among the written bins of an address type. It serves to add a
// moving endpoint to its new slice before it is removed from the old one.
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

// movesAway reports whether an endpoint of slice s, which b replaces, moves to another bin for which counts
// returns true.
func (m moves) movesAway(s *discoveryv1.EndpointSlice, b *bin, counts func(*bin) bool) bool {
	return s != nil && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
		to := m[target(&e).Name]
		return to != nil && to != b && counts(to)
	})
}

// reusable returns the index of a slice that b may take over, or -1. A slice must stay until all of its
// endpoints are written elsewhere.
func (m moves) reusable(b *bin, unneeded []*discoveryv1.EndpointSlice) int {
	return slices.IndexFunc(unneeded, func(s *discoveryv1.EndpointSlice) bool {
		return !m.movesAway(s, b, func(*bin) bool { return true })
	})
}

// sorted puts each bin after the bins that endpoints of its slice move to. If two bins exchange endpoints,
// there is no such order.
func (m moves) sorted(bins []*bin) []*bin {
	pending := make(map[*bin]bool, len(bins))
	for _, b := range bins {
		pending[b] = true
	}
	list := make([]*bin, 0, len(bins))
	for remaining := slices.Clone(bins); len(remaining) > 0; {
		i := max(0, slices.IndexFunc(remaining, func(b *bin) bool {
			return !m.movesAway(b.slice, b, func(to *bin) bool { return pending[to] })
		}))
		list = append(list, remaining[i])
		delete(pending, remaining[i])
		remaining = slices.Delete(remaining, i, i+1)
	}
	return list
}
