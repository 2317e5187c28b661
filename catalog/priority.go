package catalog

import (
	"cmp"
	"net/netip"
	"slices"
)

// PlacedSet is the result of [ResolveAll].
type PlacedSet struct {
	// Endpoints are sorted by address. All addresses differ, additional ones included.
	Endpoints []PlacedEndpoint
	// Exists reports whether the Service exists.
	Exists bool
	// Pending is true if the Service, or more endpoints, may be in clusters that are not synced yet.
	Pending bool
}

// PlacedEndpoint is an endpoint with its priority for a client.
type PlacedEndpoint struct {
	Endpoint
	// Additional is the address of the same workload in the other IP family; invalid for none.
	Additional netip.AddrPort
	// Region is the region of the zone; empty if unknown.
	Region string
	// Draining is true for an endpoint that completes its requests and gets no new ones.
	Draining bool
	// Priority is 0 for the nearest endpoints. The priorities of a set have no gaps.
	Priority uint8
}

// priorityKind returns the property of clients that the results of [ResolveAll] depend on. Unlike in
// [Snapshot.filterKind], zones of endpoints without hints make no difference.
func (s *Snapshot) priorityKind() FilterKind {
	kind := FilterNone
	for i := range s.members {
		switch p := &s.members[i]; {
		case !p.filtered():
		case p.service != nil && p.service.LocalTraffic:
			return FilterNode
		default:
			kind = max(kind, p.hintKind)
		}
	}
	return kind
}

// ResolveAll returns the endpoints of a query for xDS clients. It is a pure function. Unlike [Resolve], it
// also returns:
//
//   - draining endpoints,
//   - endpoints that are not near the client, with a lower priority,
//   - both addresses of a workload, in one endpoint.
//
// If no endpoint is ready, draining endpoints are used like ready ones, as in kube-proxy. Without Query.IPv6
// there are no IPv6 addresses.
func ResolveAll(s *Snapshot, q Query) PlacedSet {
	set := PlacedSet{Exists: s.Service != nil, Pending: s.pending}
	if s.Service == nil {
		return set
	}
	_, declared := s.Service.port(q.Port)
	for i := range s.members {
		s.appendPlaced(&set, &s.members[i], q, declared)
	}
	slices.SortStableFunc(set.Endpoints, comparePlaced)
	set.Endpoints = slices.CompactFunc(set.Endpoints, func(a, b PlacedEndpoint) bool { return a.Addr == b.Addr })
	set.Endpoints = pairFamilies(set.Endpoints, s.Service)
	if !slices.ContainsFunc(set.Endpoints, func(e PlacedEndpoint) bool { return !e.Draining }) {
		for i := range set.Endpoints {
			set.Endpoints[i].Draining = false
		}
	}
	closeGaps(set.Endpoints)
	return set
}

// comparePlaced sorts by address. The first of equal addresses is kept: that of a ready endpoint, else that
// of the first member.
func comparePlaced(a, b PlacedEndpoint) int {
	return cmp.Or(a.Addr.Compare(b.Addr), first(!a.Draining, !b.Draining))
}

// appendPlaced appends the endpoints of one member. If declared is true, the Service that it is a member of
// declares the port.
func (s *Snapshot) appendPlaced(set *PlacedSet, p *memberSnapshot, q Query, declared bool) {
	if p.service == nil || p.service.ExternalName {
		return
	}
	ready := usable(p, q, declared, (*compiledSubset).readyAddresses)
	priority := func(Endpoint) uint8 { return 0 }
	if by := priorities(ready, q.Filter); p.filtered() && by != nil {
		priority = by
	}
	s.appendWith(set, p, ready, PlacedEndpoint{}, priority)
	draining := usable(p, q, declared, (*compiledSubset).drainingAddresses)
	s.appendWith(set, p, draining, PlacedEndpoint{Draining: true}, func(e Endpoint) uint8 { return priority(e.withOwnHints()) })
}

// usable returns the candidates of the allowed IP families, one for each address.
func usable(p *memberSnapshot, q Query, declared bool, of func(*compiledSubset) []*Address) []Endpoint {
	chosen := EndpointSet{Endpoints: p.candidates(nil, q, declared, of)}
	if !q.IPv6 {
		chosen.Endpoints = slices.DeleteFunc(chosen.Endpoints, func(e Endpoint) bool { return e.IP.Unmap().Is6() })
	}
	chosen.settle(0)
	return chosen.Endpoints
}

// withOwnHints returns the endpoint with hints for its own zone and node if it has none. Slice controllers
// remove the hints of an endpoint that is not ready, and a draining endpoint should keep its priority.
func (e Endpoint) withOwnHints() Endpoint {
	if e.hasHints() {
		return e
	}
	own := *e.Address
	own.HintZones = []string{e.Zone}
	if e.Target != nil {
		own.HintNodes = []string{e.Target.Node}
	}
	e.Address = &own
	return e
}

// appendWith appends the endpoints of a member that clients get. Each is a copy of base with an endpoint.
func (s *Snapshot) appendWith(set *PlacedSet, p *memberSnapshot, list []Endpoint, base PlacedEndpoint, priority func(Endpoint) uint8) {
	list = slices.DeleteFunc(list, func(e Endpoint) bool { return priority(e) == excluded })
	set.Endpoints = slices.Grow(set.Endpoints, len(list))
	for _, e := range list {
		placed := base
		placed.Endpoint, placed.Priority = e, priority(e)
		placed.Addr = netip.AddrPortFrom(e.IP.Unmap(), e.Addr.Port())
		if p.filtered() {
			placed.Region = s.regions[e.Zone]
		}
		set.Endpoints = append(set.Endpoints, placed)
	}
}

// targetPort is a port of a workload.
type targetPort struct {
	target *Target
	port   uint16
}

// pairFamilies joins the IPv4 and the IPv6 address of a workload into one endpoint. Its first address is that
// of the family that the Service lists first. The endpoints are sorted by address, so IPv4 comes first.
func pairFamilies(list []PlacedEndpoint, s *Service) []PlacedEndpoint {
	isIPv6 := func(e PlacedEndpoint) bool { return e.ofIPv6() && e.Addr.Addr().Is6() }
	if !slices.ContainsFunc(list, isIPv6) {
		return list
	}
	unpaired := map[targetPort]int{}
	kept := list[:0]
	for _, e := range list {
		key := targetPort{e.Target, e.Addr.Port()}
		at, found := unpaired[key]
		switch {
		case !isIPv6(e):
			if _, known := unpaired[key]; e.Family && !known {
				unpaired[key] = len(kept)
			}
			kept = append(kept, e)
		case found:
			kept[at] = kept[at].paired(e, s)
			delete(unpaired, key)
		default:
			kept = append(kept, e)
		}
	}
	clear(list[len(kept):])
	slices.SortFunc(kept, comparePlaced)
	return kept
}

// paired joins the IPv6 endpoint of a workload with its IPv4 endpoint. The result is ready if one of them is.
func (e PlacedEndpoint) paired(ipv6 PlacedEndpoint, s *Service) PlacedEndpoint {
	if s.IPv6First {
		e, ipv6 = ipv6, e
	}
	e.Additional = ipv6.Addr
	e.Draining = e.Draining && ipv6.Draining
	e.Priority = min(e.Priority, ipv6.Priority)
	return e
}

// closeGaps renumbers priorities, so that each number from 0 to the last is used.
func closeGaps(list []PlacedEndpoint) {
	var used [excluded]bool
	for i := range list {
		used[list[i].Priority] = true
	}
	var number [excluded]uint8
	n := uint8(0)
	for p := range used {
		if number[p] = n; used[p] {
			n++
		}
	}
	for i := range list {
		list[i].Priority = number[list[i].Priority]
	}
}
