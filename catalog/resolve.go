package catalog

import (
	"math"
	"net/netip"
	"slices"
	"strings"
)

// Query is a question about a Service.
type Query struct {
	// Port is the requested port of the Service.
	Port uint16
	// Hostname, unless empty, selects the endpoints with that hostname, and those without one whose
	// address it is, with dashes.
	Hostname string
	Filter   Filter
	// IPv6 allows IPv6 addresses of workloads, and prefers them to the IPv4 address of the same
	// workload.
	IPv6 bool
}

// FilterKind says which property of a client a [Filter] uses.
type FilterKind uint8

// The kinds of filter.
const (
	// FilterNone: all clients get the same answer.
	FilterNone FilterKind = iota
	// FilterZone: the answer depends on the client's zone, through hints or because it
	// says which endpoints are local.
	FilterZone
	// FilterHints: the answer depends on the client's node and zone, through hints.
	FilterHints
	// FilterNode: the answer has only endpoints on the client's node (internalTrafficPolicy
	// Local).
	FilterNode
)

// Filter is the part of a client's place on which its answer depends.
type Filter struct {
	Kind FilterKind
	// Zone is empty for FilterNone, and whenever the client's zone is unknown.
	Zone string
	// Node is used by FilterNode and FilterHints only.
	Node string
}

// Client is the place of a client; both fields may be empty.
type Client struct {
	Node, Zone string
}

// FilterKind returns which property of the client the answers about the Service depend on.
func (s *Snapshot) FilterKind() FilterKind {
	kind := FilterNone
	for i := range s.parts {
		switch p := &s.parts[i]; {
		case p.filtered() && p.service != nil && p.service.LocalTraffic:
			return FilterNode
		case p.filtered() && p.noded:
			kind = FilterHints
		case p.zoned:
			kind = max(kind, FilterZone)
		}
	}
	return kind
}

// filtered reports whether the client's place decides which endpoints of the part it gets. In
// linked clusters it doesn't: the nodes and zones of the client are not theirs.
func (p *part) filtered() bool { return p.source.Cluster == nil }

// For returns the least specific filter of this kind for a client.
func (k FilterKind) For(c Client) Filter {
	switch {
	case k == FilterNode:
		return Filter{Kind: FilterNode, Zone: c.Zone, Node: c.Node}
	case k == FilterHints && c.Node != "":
		return Filter{Kind: FilterHints, Zone: c.Zone, Node: c.Node}
	case k >= FilterZone && c.Zone != "":
		return Filter{Kind: FilterZone, Zone: c.Zone}
	default:
		return Filter{}
	}
}

// EndpointSet is the answer to a Query.
type EndpointSet struct {
	// Endpoints are sorted by address; no two have the same one.
	Endpoints []Endpoint
	// Exists is false when there is no such Service.
	Exists bool
	// Rivals are workloads in slices whose address another workload has.
	Rivals []Rival
	// Pending is true when there may be more endpoints in clusters that are not synced yet.
	Pending bool
}

// Endpoint is one address and port that serves a Service port.
type Endpoint struct {
	Addr netip.AddrPort
	*Address
	// Source is where the endpoint comes from.
	Source *Source
}

// Resolve answers a query from a snapshot. It is a pure function.
//
// The rules are those of spec/destination.md §2.4 and §2.5. The endpoints are those of all
// slices; when two slices give one address and port to different workloads, [compareClaims] says
// which of them has it. A remote or federated Service has the endpoints of its members; when
// two members have one address and port, the first one has it, and the member of our own cluster
// is the first.
func Resolve(s *Snapshot, q Query) EndpointSet {
	if s.Service == nil {
		return EndpointSet{}
	}
	set := EndpointSet{Exists: true, Pending: s.pending}
	n := 0
	for i := range s.parts {
		n += s.parts[i].addresses()
	}
	set.Endpoints = make([]Endpoint, 0, n)
	_, declared := s.Service.port(q.Port)
	for i := range s.parts {
		s.parts[i].resolve(&set, q, declared)
	}
	if len(s.parts) == 1 {
		return set
	}
	slices.SortStableFunc(set.Endpoints, func(a, b Endpoint) int { return a.Addr.Compare(b.Addr) })
	set.Endpoints = slices.CompactFunc(set.Endpoints, sameAddr)
	return set
}

func sameAddr(a, b Endpoint) bool { return a.Addr == b.Addr }

// resolve appends the answer of one member to a set that has room for it. Whether the Service that
// it is a member of declares the port is given.
func (p *part) resolve(set *EndpointSet, q Query, declared bool) {
	if p.service == nil || p.service.ExternalName {
		return
	}
	begin := len(set.Endpoints)
	set.Endpoints = p.candidates(set.Endpoints, q, declared, (*compiledSubset).readyAddresses)
	own := set.Endpoints[begin:]
	if p.filtered() {
		own = byPlace(own, q.Filter)
	}
	if q.IPv6 {
		own = preferIPv6(own)
	}
	slices.SortStableFunc(own, compareEndpoints)
	set.Endpoints = set.Endpoints[:begin+len(own)]
	set.settle(begin)
}

// settle gives each address to the first of the endpoints that have it. The endpoints from begin on
// are sorted.
func (set *EndpointSet) settle(begin int) {
	kept := set.Endpoints[:begin]
	for _, e := range set.Endpoints[begin:] {
		if len(kept) == begin || !sameAddr(kept[len(kept)-1], e) {
			kept = append(kept, e)
			continue
		}
		if first := kept[len(kept)-1]; first.Target != nil && e.Target != nil && first.Target != e.Target {
			set.Rivals = append(set.Rivals, Rival{IP: e.IP, Kept: first.Target.ID(), Other: e.Target.ID()})
		}
	}
	clear(set.Endpoints[len(kept):])
	set.Endpoints = kept
}

// addresses returns the number of addresses, which is about the size of an answer.
func (p *part) addresses() int {
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

// candidates appends the endpoints with the port, the hostname and the IP families of a query, of the
// addresses that of returns.
func (p *part) candidates(list []Endpoint, q Query, declared bool, of func(*compiledSubset) []*Address) []Endpoint {
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

// portLookup returns the function that finds the port of a subset for a requested Service port;
// zero means that the subset doesn't serve it. A port that the Service doesn't declare is taken
// as a port of the endpoints, unless the Service that it is a member of declares it: then this
// member lacks the port.
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

// port finds the Service port of a number. TCP wins over the other protocols:
// the clients speak TCP.
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

// byPlace returns the endpoints of the first priority.
//
// The families that the clients can't use are left out before: the slices of a Service change one
// after the other, so the only endpoint for a zone may be of such a family.
func byPlace(list []Endpoint, f Filter) []Endpoint {
	priority := priorities(list, f)
	if priority == nil {
		return list
	}
	return slices.DeleteFunc(list, func(e Endpoint) bool { return priority(e) != 0 })
}

// away is the priority of endpoints that a client never gets.
const away = math.MaxUint8

// priorities returns the function that says how near an endpoint is to the clients of a filter; 0 is the nearest. It
// is nil if all endpoints are equally near. It applies internalTrafficPolicy Local or, without it, the hints for nodes
// or else those for zones. As in kube-proxy, hints count only if every endpoint of the list has some and one has a hint
// for this node or zone: all endpoints are better than too few.
func priorities(list []Endpoint, f Filter) func(Endpoint) uint8 {
	switch {
	case f.Kind == FilterNode:
		return func(e Endpoint) uint8 {
			if e.Target != nil && e.Target.Key.Kind == Pod && e.Target.Node == f.Node {
				return 0
			}
			return away
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

// hintsCount reports whether every endpoint has hints, and one of them a hint for this place.
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

// compareEndpoints sorts by address. Of several workloads with one address, the one that gets it
// comes first.
func compareEndpoints(a, b Endpoint) int {
	if c := a.Addr.Compare(b.Addr); c != 0 {
		return c
	}
	switch {
	case a.Target == b.Target:
		return strings.Compare(a.Zone, b.Zone)
	case a.Target == nil:
		return 1
	case b.Target == nil:
		return -1
	}
	// Both are ready, or their slices wouldn't have them here.
	if c := compareClaims(claim{a.Target.Workload, true}, claim{b.Target.Workload, true}); c != 0 {
		return c
	}
	// Nothing tells. One of them is better than no endpoint.
	return strings.Compare(a.Target.Key.Name, b.Target.Key.Name)
}

// mirror returns which Service this one mirrors, as the first slice says that names a cluster.
func (p *part) mirror() Mirror {
	for _, c := range p.slices {
		if c.slice.Mirror.Cluster != "" {
			return c.slice.Mirror
		}
	}
	return Mirror{}
}
