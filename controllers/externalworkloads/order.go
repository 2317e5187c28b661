package externalworkloads

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// moves says in which of the bins of an address type that are written a workload is, so
// that an endpoint that moves comes before it goes.
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

// leaves reports whether something of a slice, which becomes b, goes into another bin
// that counts.
func (m moves) leaves(s *discoveryv1.EndpointSlice, b *bin, counts func(*bin) bool) bool {
	return s != nil && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
		to := m[target(&e).Name]
		return to != nil && to != b && counts(to)
	})
}

// reusable returns the index of a slice that b may take over, or -1: a slice that
// something leaves has to stay until that is elsewhere.
func (m moves) reusable(b *bin, unneeded []*discoveryv1.EndpointSlice) int {
	return slices.IndexFunc(unneeded, func(s *discoveryv1.EndpointSlice) bool {
		return !m.leaves(s, b, func(*bin) bool { return true })
	})
}

// sorted puts each bin after those into which something of its slice goes. Where two
// exchange something, there is no such order.
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
