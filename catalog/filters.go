package catalog

import (
	"maps"
	"slices"
)

// Filters chooses the filter for each client of a Service. Clients whose node or zone makes no difference
// share a filter, so that made-up nodes and zones cost nothing. It is immutable, and belongs to one Snapshot.
// With nil, all clients share the zero Filter.
type Filters struct {
	// Kind is the property of clients that the endpoints depend on.
	Kind FilterKind
	// nodes are the nodes that make a difference, for FilterHints and FilterNode, sorted.
	nodes []string
	// zones are the zones that make a difference, sorted, unless anyZone is true.
	zones   []string
	anyZone bool
}

// For returns the least specific filter for a client.
func (f *Filters) For(c Client) Filter {
	if f == nil {
		return Filter{}
	}
	if _, known := slices.BinarySearch(f.nodes, c.Node); !known {
		c.Node = ""
	}
	if !f.anyZone && c.Zone != "" {
		if _, known := slices.BinarySearch(f.zones, c.Zone); !known {
			c.Zone = ""
		}
	}
	switch {
	case f.Kind == FilterNode:
		return Filter{Kind: FilterNode, Zone: c.Zone, Node: c.Node}
	case f.Kind == FilterHints && c.Node != "":
		return Filter{Kind: FilterHints, Zone: c.Zone, Node: c.Node}
	case f.Kind >= FilterZone && c.Zone != "":
		return Filter{Kind: FilterZone, Zone: c.Zone}
	default:
		return Filter{}
	}
}

// Same reports whether all clients have the same filter as with g.
func (f *Filters) Same(g *Filters) bool {
	if f == nil || g == nil {
		return f == g
	}
	return f == g || f.Kind == g.Kind && f.anyZone == g.anyZone && slices.Equal(f.nodes, g.nodes) && slices.Equal(f.zones, g.zones)
}

// Filters returns the filters for [Resolve], the same for each call.
func (s *Snapshot) Filters() *Filters { return s.filters() }

// PriorityFilters returns the filters for [ResolveAll], the same for each call.
func (s *Snapshot) PriorityFilters() *Filters { return s.priorityFilters() }

func (s *Snapshot) newFilters() *Filters {
	kind := s.filterKind()
	// The labels of endpoints have the zone of the client, which clients of Get can't choose.
	return &Filters{Kind: kind, anyZone: true, nodes: s.nodesFor(kind)}
}

func (s *Snapshot) newPriorityFilters() *Filters {
	f := &Filters{Kind: s.priorityKind()}
	f.nodes = s.nodesFor(f.Kind)
	if f.Kind == FilterZone || f.Kind == FilterHints {
		f.zones = s.hintZones()
	}
	return f
}

// nodesFor returns the nodes of clients that make a difference with a kind of filter, sorted.
func (s *Snapshot) nodesFor(kind FilterKind) []string {
	if kind < FilterHints {
		return nil
	}
	nodes := map[string]struct{}{}
	for c := range s.filteredSlices {
		for _, subset := range c.subsets {
			addNodes(nodes, kind, subset.addresses)
			addNodes(nodes, kind, subset.draining)
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}

func addNodes(nodes map[string]struct{}, kind FilterKind, addresses []*Address) {
	for _, a := range addresses {
		switch {
		case kind == FilterHints:
			for _, node := range a.HintNodes {
				nodes[node] = struct{}{}
			}
		case a.Target != nil:
			nodes[a.Target.Node] = struct{}{}
		}
	}
}

// hintZones returns the zones of hints and of draining endpoints, sorted.
func (s *Snapshot) hintZones() []string {
	var zones []string
	for c := range s.filteredSlices {
		zones = append(zones, c.zones...)
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// filteredSlices yields the slices whose endpoints depend on the node and zone of the client.
func (s *Snapshot) filteredSlices(yield func(*compiledSlice) bool) {
	for i := range s.members {
		p := &s.members[i]
		if !p.filtered() {
			continue
		}
		for _, c := range p.slices {
			if !yield(c) {
				return
			}
		}
	}
}
