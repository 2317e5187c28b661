package externalworkloads

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	slicestore "github.com/signpostd/signpost/controllers/slices"
)

// bin is a slice being packed.
type bin struct {
	// slice is the existing slice; nil for a new one.
	slice     *discoveryv1.EndpointSlice
	group     *group
	endpoints []discoveryv1.Endpoint
	// changed is true if the slice must be written.
	changed bool
}

// pack distributes the endpoints of a group over the existing slices with its ports, and over new ones
// (spec/destination.md §8.4.6). It aims at few writes, not at full slices. Slices that would be empty get no
// bin.
func (p *planner) pack(g *group, existing []*discoveryv1.EndpointSlice) []*bin {
	left := make(map[slicestore.Identity]*discoveryv1.Endpoint, len(g.endpoints))
	for i := range g.endpoints {
		left[slicestore.IdentityOf(&g.endpoints[i])] = &g.endpoints[i]
	}
	var bins []*bin
	for _, s := range existing {
		if b := p.keep(s, g, left); len(b.endpoints) > 0 {
			bins = append(bins, b)
		}
	}
	rest := make([]discoveryv1.Endpoint, 0, len(left))
	for i := range g.endpoints {
		if e := &g.endpoints[i]; left[slicestore.IdentityOf(e)] == e {
			rest = append(rest, *e)
		}
	}
	return p.fill(g, bins, rest)
}

// keep returns a bin with the endpoints of a slice that are still wanted, and removes them from left.
func (p *planner) keep(s *discoveryv1.EndpointSlice, g *group, left map[slicestore.Identity]*discoveryv1.Endpoint) *bin {
	b := &bin{slice: s, group: g, changed: !p.slices.labelled(s)}
	for i := range s.Endpoints {
		was := &s.Endpoints[i]
		id := slicestore.IdentityOf(was)
		wanted := left[id]
		// A slice may exceed the limit if the limit was higher before.
		if wanted == nil || len(b.endpoints) == p.maxPerSlice {
			b.changed = true
			continue
		}
		delete(left, id)
		b.endpoints = append(b.endpoints, *wanted)
		b.changed = b.changed || !sameAttributes(was, wanted)
	}
	return b
}

// fill puts the remaining endpoints first into slices that are written anyway. Those that don't fit go into
// one slice with room for all of them, else into new slices.
func (p *planner) fill(g *group, bins []*bin, rest []discoveryv1.Endpoint) []*bin {
	fullest := slices.DeleteFunc(slices.Clone(bins), func(b *bin) bool { return !b.changed })
	slices.SortStableFunc(fullest, func(a, b *bin) int { return cmp.Compare(len(b.endpoints), len(a.endpoints)) })
	for _, b := range fullest {
		n := min(p.maxPerSlice-len(b.endpoints), len(rest))
		b.endpoints, rest = append(b.endpoints, rest[:n]...), rest[n:]
	}
	for len(rest) > 0 {
		n := min(p.maxPerSlice, len(rest))
		b := p.tightest(bins, n)
		if b == nil {
			b = &bin{group: g}
			bins = append(bins, b)
		}
		b.endpoints, rest, b.changed = append(b.endpoints, rest[:n]...), rest[n:], true
	}
	return bins
}

// tightest returns the fullest bin with room for n endpoints.
func (p *planner) tightest(bins []*bin, n int) *bin {
	var best *bin
	for _, b := range bins {
		if len(b.endpoints)+n <= p.maxPerSlice && (best == nil || len(b.endpoints) > len(best.endpoints)) {
			best = b
		}
	}
	return best
}

// sameAttributes reports whether two endpoints of one identity are equal. Hints are ignored, because they are
// not written here, and so is the resource version of the target.
func sameAttributes(a, b *discoveryv1.Endpoint) bool {
	return value(a.Zone) == value(b.Zone) && value(a.NodeName) == value(b.NodeName) &&
		ptr.Equal(a.Conditions.Ready, b.Conditions.Ready) &&
		ptr.Equal(a.Conditions.Serving, b.Conditions.Serving) &&
		ptr.Equal(a.Conditions.Terminating, b.Conditions.Terminating) &&
		target(a) == target(b)
}

// target returns the target of an endpoint, without the resource version.
func target(e *discoveryv1.Endpoint) corev1.ObjectReference {
	ref := value(e.TargetRef)
	ref.ResourceVersion = ""
	return ref
}

// value returns the value of an optional field.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// optional returns nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
