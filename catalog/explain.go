package catalog

import "net/netip"

// Explanation has the outcome of every endpoint of a Service for a query: those that [Resolve] returns, and
// those that it leaves out. It is immutable.
type Explanation struct {
	// Service is nil if the Service does not exist.
	Service *Service
	// Members are the members of the Service. A Service that is neither remote nor federated is its only member.
	Members []Member
}

// Member is a member of a Service.
type Member struct {
	Key ServiceKey
	// Linked is false if the cluster of the member is not linked, and Synced if it is not synced yet. In both
	// cases Slices is empty.
	Linked, Synced bool
	// Service is nil if the cluster of the member has no such Service.
	Service *Service
	// Slices are sorted by name.
	Slices []ExplainedSlice
}

// ExplainedSlice is a slice with the outcomes of its endpoints.
type ExplainedSlice struct {
	Slice *EndpointSlice
	// HasPort is false if no subset has the requested port.
	HasPort   bool
	Endpoints []ExplainedEndpoint
}

// ExplainedEndpoint is an address of a slice and its outcome.
type ExplainedEndpoint struct {
	// Addr has the port 0 if the slice does not have the requested port.
	Addr     netip.AddrPort
	Endpoint *SliceEndpoint
	Outcome  Outcome
}

// Outcome is the reason why an endpoint is served or not served to a client whose node and zone are unknown.
type Outcome uint8

// The outcomes. All but Served leave the endpoint out.
const (
	Served Outcome = iota
	// EndpointNotReady: the endpoint is not ready according to the slice.
	EndpointNotReady
	// WorkloadUnknown: the workload in the slice is not known.
	WorkloadUnknown
	// WorkloadReplaced: the workload of that name has another UID.
	WorkloadReplaced
	// PortMissing: the slice does not have the requested port.
	PortMissing
	// OtherHostname: the endpoint does not have the requested hostname.
	OtherHostname
	// IPv6Disabled: the address is an IPv6 address, and IPv6 is not allowed.
	IPv6Disabled
	// IPv6Preferred: the workload has an IPv6 address, which is used instead.
	IPv6Preferred
	// DuplicateAddress: another endpoint has the same address and port.
	DuplicateAddress
	// ExternalNameService: the Service of the member is of type ExternalName.
	ExternalNameService
)

// Explain returns the outcomes of all endpoints for a query. The filter of the query is ignored.
func (c *Catalog) Explain(key ServiceKey, q Query) Explanation {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.explain(key, q, &c.options)
}

func (s *state) explain(key ServiceKey, q Query, o *Options) Explanation {
	w := Explanation{Service: s.services[key]}
	q.Filter = Filter{}
	by := servedBy(Resolve(s.snapshot(key, o), q).Endpoints)
	declared := false
	if w.Service != nil {
		_, declared = w.Service.port(q.Port)
	}
	for _, member := range w.Service.members(key) {
		cluster, usable := s.clusterOf(member)
		m := Member{Key: member, Linked: cluster != nil || usable, Synced: usable}
		if usable {
			m.Service = s.services[member]
			m.Slices = s.explainSlices(member, q, declared)
			m.settle(q, by)
		}
		w.Members = append(w.Members, m)
	}
	return w
}

// explainSlices returns the slices of a member. If declared is true, the Service that it is a member of
// declares the port.
func (s *state) explainSlices(member ServiceKey, q Query, declared bool) []ExplainedSlice {
	service := s.services[member]
	portOf := func([]SubsetPort) uint16 { return 0 }
	if service != nil {
		portOf = service.portLookup(q.Port, declared)
	}
	var all []ExplainedSlice
	name := newHostname(q.Hostname)
	for _, e := range s.sortedSlices(member) {
		slice := ExplainedSlice{Slice: e.slice}
		at := 0
		for _, subset := range e.slice.Subsets {
			port := portOf(subset.Ports)
			slice.HasPort = slice.HasPort || port != 0
			for i := range subset.Endpoints {
				endpoint := &subset.Endpoints[i]
				slice.Endpoints = append(slice.Endpoints, s.explainEndpoint(endpoint, e.targets[at], addressQuery{port, name})...)
				at++
			}
		}
		all = append(all, slice)
	}
	return all
}

// addressQuery has the port of a subset for a query, 0 for none, and the hostname of the query.
type addressQuery struct {
	port     uint16
	hostname hostname
}

// explainEndpoint returns the addresses of an endpoint with the outcomes that do not depend on other
// endpoints.
func (s *state) explainEndpoint(e *SliceEndpoint, w *workloadEntry, q addressQuery) []ExplainedEndpoint {
	addresses := e.Addresses
	if e.Target.Kind != "" && len(addresses) > 1 {
		// The addresses of one endpoint are interchangeable, so the last one is used.
		addresses = addresses[len(addresses)-1:]
	}
	outcome := Served
	switch {
	case e.NotReady:
		outcome = EndpointNotReady
	case e.Target.Kind == "":
	case w == nil || w.workload == nil:
		outcome = WorkloadUnknown
	case e.TargetUID != 0 && w.workload.UID != 0 && e.TargetUID != w.workload.UID:
		outcome = WorkloadReplaced
	}
	if outcome == Served && q.port == 0 {
		outcome = PortMissing
	}
	var all []ExplainedEndpoint
	for _, ip := range addresses {
		w := ExplainedEndpoint{Addr: netip.AddrPortFrom(ip, q.port), Endpoint: e, Outcome: outcome}
		if outcome == Served && !q.hostname.selects(e.Hostname, ip) {
			w.Outcome = OtherHostname
		}
		all = append(all, w)
	}
	return all
}

// served is an address that [Resolve] returns: the member that it comes from, and its workload.
type served struct {
	member ServiceKey
	target WorkloadKey
}

func servedBy(endpoints []Endpoint) map[netip.AddrPort]served {
	all := make(map[netip.AddrPort]served, len(endpoints))
	for _, e := range endpoints {
		by := served{member: e.Source.Service}
		if e.Target != nil {
			by.target = e.Target.Key
		}
		all[e.Addr] = by
	}
	return all
}

// settle sets the outcomes that depend on other endpoints: those of IP families and of duplicate addresses.
// It marks the addresses that are served, because a slice may have an address twice.
func (m *Member) settle(q Query, by map[netip.AddrPort]served) {
	m.each(func(slice *EndpointSlice, e *ExplainedEndpoint) {
		family := ofFamily(slice, e.Endpoint)
		winner, used := by[e.Addr]
		switch {
		case m.Service.ExternalName:
			e.Outcome = ExternalNameService
		case used && winner == served{m.Key, e.Endpoint.Target}:
			by[e.Addr] = served{}
		case family && e.Addr.Addr().Is6() && !q.IPv6:
			e.Outcome = IPv6Disabled
		case family && e.Addr.Addr().Is4() && !used:
			e.Outcome = IPv6Preferred
		default:
			e.Outcome = DuplicateAddress
		}
	})
}

// ofFamily reports whether the rules about IP families apply to an endpoint.
func ofFamily(slice *EndpointSlice, e *SliceEndpoint) bool {
	return e.Target.Kind != "" && slice.AddressType != ""
}

// each calls f for the endpoints that may still be served.
func (m *Member) each(f func(*EndpointSlice, *ExplainedEndpoint)) {
	for i := range m.Slices {
		for k := range m.Slices[i].Endpoints {
			if e := &m.Slices[i].Endpoints[k]; e.Outcome == Served {
				f(m.Slices[i].Slice, e)
			}
		}
	}
}
