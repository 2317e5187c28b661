package catalog

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// Query selects endpoints of a Service.
type Query struct {
	// Port is the requested port of the Service.
	Port uint16
	// Hostname selects the endpoints with this hostname, and endpoints without a hostname by their address
	// with dashes. The empty Hostname selects all endpoints.
	Hostname string
	Filter   Filter
	// IPv6 allows IPv6 addresses of workloads, and prefers them to the IPv4 address of the same workload.
	IPv6 bool
}

// FilterKind says which property of a client a [Filter] uses.
type FilterKind uint8

// The kinds of filter.
const (
	// FilterNone: the endpoints are the same for all clients.
	FilterNone FilterKind = iota
	// FilterZone: they depend on the zone of the client, because of hints or of the label zone_locality.
	FilterZone
	// FilterHints: they depend on the node and zone of the client, because of hints.
	FilterHints
	// FilterNode: only endpoints on the node of the client (internalTrafficPolicy Local).
	FilterNode
)

// Filter has the node and zone of a client as far as its endpoints depend on them.
type Filter struct {
	Kind FilterKind
	// Zone is empty for FilterNone, and if the zone of the client is unknown.
	Zone string
	// Node is used by FilterNode and FilterHints only.
	Node string
}

// Client is the node and zone of a client; both may be empty.
type Client struct {
	Node, Zone string
}

// filterKind returns the property of clients that the results of [Resolve] depend on.
func (s *Snapshot) filterKind() FilterKind {
	kind := FilterNone
	for i := range s.members {
		switch p := &s.members[i]; {
		case p.filtered() && p.service != nil && p.service.LocalTraffic:
			return FilterNode
		case p.filtered() && p.hasNodeHints:
			kind = FilterHints
		case p.hasZone:
			kind = max(kind, FilterZone)
		}
	}
	return kind
}

// filtered reports whether the endpoints of the member depend on the node and zone of the client. In linked
// clusters they do not, because nodes and zones of our own cluster mean nothing there.
func (p *memberSnapshot) filtered() bool { return p.source.Cluster == nil }

// EndpointSet is the result of [Resolve].
type EndpointSet struct {
	// Endpoints are sorted by address, without repeats.
	Endpoints []Endpoint
	// Exists reports whether the Service exists.
	Exists bool
	// Conflicts are the addresses that several workloads claim.
	Conflicts []AddressConflict
	// Pending is true if more endpoints may be in clusters that are not synced yet.
	Pending bool
}

// Endpoint is one address and port that serves a Service port.
type Endpoint struct {
	Addr netip.AddrPort
	*Address
	// Source is the Service that the endpoint belongs to.
	Source *Source
}

// Resolve returns the endpoints of a snapshot for a query, by the rules of spec/destination.md §2.4 and §2.5.
// It is a pure function.
//
// The endpoints come from all slices. If two slices have one address and port for different workloads,
// [compareClaims] decides. A remote or federated Service has the endpoints of its members. If two members
// have one address and port, the first member keeps it; the member of our own cluster is the first.
func Resolve(s *Snapshot, q Query) EndpointSet {
	if s.Service == nil {
		return EndpointSet{}
	}
	set := EndpointSet{Exists: true, Pending: s.pending}
	if q.Hostname == "" { // of a hostname there are few
		n := 0
		for i := range s.members {
			n += s.members[i].addresses()
		}
		set.Endpoints = make([]Endpoint, 0, n)
	}
	_, declared := s.Service.port(q.Port)
	for i := range s.members {
		s.members[i].resolve(&set, q, declared)
	}
	if len(s.members) == 1 {
		return set
	}
	slices.SortStableFunc(set.Endpoints, func(a, b Endpoint) int { return a.Addr.Compare(b.Addr) })
	set.Endpoints = slices.CompactFunc(set.Endpoints, sameAddr)
	return set
}

func sameAddr(a, b Endpoint) bool { return a.Addr == b.Addr }

// resolve appends the endpoints of one member to a set. If declared is true, the Service that it is a member of
// declares the port.
func (p *memberSnapshot) resolve(set *EndpointSet, q Query, declared bool) {
	if p.service == nil || p.service.ExternalName {
		return
	}
	begin := len(set.Endpoints)
	set.Endpoints = p.candidates(set.Endpoints, q, declared, (*compiledSubset).readyAddresses)
	set.settle(begin)
	own := set.Endpoints[begin:]
	if p.filtered() {
		own = byPlace(own, q.Filter)
	}
	if q.IPv6 {
		own = preferIPv6(own)
	}
	set.Endpoints = set.Endpoints[:begin+len(own)]
}

// settle sorts the endpoints from begin on, and keeps the first one of each address. It comes before the
// hints, because a duplicate without hints would turn them off.
func (set *EndpointSet) settle(begin int) {
	slices.SortStableFunc(set.Endpoints[begin:], compareEndpoints)
	kept := set.Endpoints[:begin]
	for _, e := range set.Endpoints[begin:] {
		if len(kept) == begin || !sameAddr(kept[len(kept)-1], e) {
			kept = append(kept, e)
			continue
		}
		if first := kept[len(kept)-1]; first.Target != e.Target && first.hasOwnIP() && e.hasOwnIP() {
			set.Conflicts = append(set.Conflicts, AddressConflict{
				IP: e.IP, Winner: first.Target.ID(), Loser: e.Target.ID(), Undecided: compareReady(first, e) == 0,
			})
		}
	}
	clear(set.Endpoints[len(kept):])
	set.Endpoints = kept
}

// hasOwnIP reports whether the workload of the endpoint has the IP. A slice can name any workload for any IP.
func (e Endpoint) hasOwnIP() bool { return e.Target != nil && slices.Contains(e.Target.IPs, e.IP) }

// addresses returns the number of addresses, an upper bound for the number of endpoints.
func (p *memberSnapshot) addresses() int {
	n := 0
	for _, c := range p.slices {
		for i := range c.subsets {
			n += len(c.subsets[i].addresses)
		}
	}
	return n
}

func (c *compiledSubset) readyAddresses() []*Address { return c.addresses }

func (c *compiledSubset) drainingAddresses() []*Address { return c.draining }

// candidates appends the endpoints that match the port, the hostname and the IP families of a query. The
// function of returns the addresses of a subset: the ready or the draining ones.
func (p *memberSnapshot) candidates(list []Endpoint, q Query, declared bool, of func(*compiledSubset) []*Address) []Endpoint {
	portOf := p.service.portLookup(q.Port, declared)
	name := newHostname(q.Hostname)
	for _, c := range p.slices {
		for i := range c.subsets {
			port := portOf(c.subsets[i].ports)
			if port == 0 {
				continue
			}
			for _, a := range of(&c.subsets[i]) {
				if name.selects(a.Hostname, a.IP) && (q.IPv6 || !a.ofIPv6()) {
					list = append(list, Endpoint{netip.AddrPortFrom(a.IP, port), a, p.source})
				}
			}
		}
	}
	return list
}

// portLookup returns the function that maps a requested Service port to the port of a subset, zero for none.
// If the Service does not declare the port, it is taken as the port of the endpoints. But if declaredBy is
// true, the Service that it is a member of declares the port, so this member has no endpoints for it.
func (s *Service) portLookup(requested uint16, declaredBy bool) func([]SubsetPort) uint16 {
	declared, ok := s.port(requested)
	return func(ports []SubsetPort) uint16 {
		switch {
		case len(ports) == 0, !ok && declaredBy:
			return 0
		case !ok:
			return requested
		}
		for _, p := range ports {
			if p.Name == declared.Name {
				return p.Port
			}
		}
		return 0
	}
}

// port finds the Service port of a number. TCP has precedence over other protocols, because clients use TCP.
func (s *Service) port(number uint16) (ServicePort, bool) {
	var found ServicePort
	ok := false
	for _, p := range s.Ports {
		if p.Port == number && (!ok || p.Protocol == TCP && found.Protocol != TCP) {
			found, ok = p, true
		}
	}
	return found, ok
}

// byPlace returns the endpoints of the first priority for clients of a node and zone.
//
// Callers remove the IP families that clients can't use before. Otherwise the only endpoint with a hint for a
// zone could be of such a family, because the slices of a Service change one after the other.
func byPlace(list []Endpoint, f Filter) []Endpoint {
	priority := priorities(list, f)
	if priority == nil {
		return list
	}
	return slices.DeleteFunc(list, func(e Endpoint) bool { return priority(e) != 0 })
}

// excluded is the priority of endpoints that a client never gets.
const excluded = math.MaxUint8

// priorities returns the function that maps an endpoint to its priority for the clients of a filter; 0 is the
// nearest. It is nil if all endpoints have the same priority. It applies internalTrafficPolicy Local or,
// without it, the hints for nodes, or else the hints for zones. As in kube-proxy, hints are used only if
// every endpoint of the list has hints and one has a hint for this node or zone.
func priorities(list []Endpoint, f Filter) func(Endpoint) uint8 {
	switch {
	case f.Kind == FilterNode:
		return func(e Endpoint) uint8 {
			if f.Node != "" && e.Target != nil && e.Target.Key.Kind == Pod && e.Target.Node == f.Node {
				return 0
			}
			return excluded
		}
	case f.Node != "" && hintsCount(list, f.Node, Endpoint.nodeHints):
		return func(e Endpoint) uint8 {
			switch {
			case slices.Contains(e.HintNodes, f.Node):
				return 0
			case f.Zone != "" && slices.Contains(e.HintZones, f.Zone):
				return 1
			default:
				return 2
			}
		}
	case f.Zone != "" && hintsCount(list, f.Zone, Endpoint.zoneHints):
		return func(e Endpoint) uint8 {
			if slices.Contains(e.HintZones, f.Zone) {
				return 0
			}
			return 1
		}
	default:
		return nil
	}
}

func (e Endpoint) nodeHints() []string { return e.HintNodes }

func (e Endpoint) zoneHints() []string { return e.HintZones }

func (e Endpoint) hasHints() bool { return len(e.HintZones)+len(e.HintNodes) > 0 }

// hintsCount reports whether every endpoint has hints, and one of them a hint for this node or zone.
func hintsCount(list []Endpoint, place string, hints func(Endpoint) []string) bool {
	without := func(e Endpoint) bool { return len(hints(e)) == 0 }
	hinted := func(e Endpoint) bool { return slices.Contains(hints(e), place) }
	return slices.ContainsFunc(list, hinted) && !slices.ContainsFunc(list, without)
}

// ofIPv6 reports whether the address is the IPv6 address of a workload.
func (a *Address) ofIPv6() bool { return a.Family && a.IP.Is6() }

// preferIPv6 drops the IPv4 address of each workload that has an IPv6 one.
func preferIPv6(list []Endpoint) []Endpoint {
	if !slices.ContainsFunc(list, Endpoint.ofIPv6) {
		return list
	}
	preferred := make(map[*Target]struct{}, len(list))
	for _, e := range list {
		if e.ofIPv6() {
			preferred[e.Target] = struct{}{}
		}
	}
	return slices.DeleteFunc(list, func(e Endpoint) bool {
		_, has := preferred[e.Target]
		return e.Family && e.IP.Is4() && has
	})
}

// compareEndpoints sorts by address. If several workloads have one address, the one that gets it is first. Of
// duplicates, those with hints are first.
func compareEndpoints(a, b Endpoint) int {
	if c := a.Addr.Compare(b.Addr); c != 0 {
		return c
	}
	switch {
	case a.Target == b.Target:
		return cmp.Or(first(a.hasHints(), b.hasHints()), strings.Compare(a.Zone, b.Zone))
	case a.Target == nil:
		return 1
	case b.Target == nil:
		return -1
	}
	if c := compareReady(a, b); c != 0 {
		return c
	}
	// No rule decides, and one endpoint is better than none.
	return strings.Compare(a.Target.Key.Name, b.Target.Key.Name)
}

// compareReady is [compareClaims] for the workloads of two endpoints, both ready according to their slices.
func compareReady(a, b Endpoint) int {
	return compareClaims(claim{a.Target.Workload, true}, claim{b.Target.Workload, true})
}

// mirror returns the Service that this one mirrors, from the first slice that names a cluster.
func (p *memberSnapshot) mirror() Mirror {
	for _, c := range p.slices {
		if c.slice.Mirror.Cluster != "" {
			return c.slice.Mirror
		}
	}
	return Mirror{}
}
