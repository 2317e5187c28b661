package catalog

import (
	"net/netip"
	"slices"
	"strings"
)

// Walk is how the answer to a query about a Service comes about: the way of [Resolve], with all that
// it leaves out. It never changes.
type Walk struct {
	// Service is nil when there is no such Service.
	Service *Service
	// Members are those of the Service; a Service that is neither remote nor federated is its only
	// one.
	Members []Member
}

// Member is a member of a Service.
type Member struct {
	Key ServiceKey
	// Linked is false for a member in a cluster that isn't linked, and Synced for one that hasn't
	// been read completely. Its slices are not used then.
	Linked, Synced bool
	// Service is nil when there is no such Service in its cluster.
	Service *Service
	// Slices are sorted by name.
	Slices []WalkedSlice
}

// WalkedSlice is a slice with what becomes of its endpoints.
type WalkedSlice struct {
	Slice *EndpointSlice
	// HasPort is false when no subset serves the port that is asked for.
	HasPort   bool
	Endpoints []WalkedEndpoint
}

// WalkedEndpoint is an address of a slice and what becomes of it.
type WalkedEndpoint struct {
	// Addr has the port 0 when the slice doesn't serve the port.
	Addr     netip.AddrPort
	Endpoint *SliceEndpoint
	Outcome  Outcome
}

// Outcome is what becomes of an endpoint, for a client whose place isn't known.
type Outcome uint8

// The fates. All but Served leave the endpoint out.
const (
	Served Outcome = iota
	// NotReadyOutcome: the slice says that it isn't ready.
	NotReadyOutcome
	// WorkloadUnknown: the slice names a workload that isn't known.
	WorkloadUnknown
	// WorkloadReplaced: the workload of that name is another one than the slice means.
	WorkloadReplaced
	// PortLacking: the slice doesn't serve the port.
	PortLacking
	// OtherHostname: it isn't the endpoint of the hostname that is asked for.
	OtherHostname
	// FamilyOff: IPv6 is not allowed.
	FamilyOff
	// FamilyOther: the workload has an IPv6 address, which is preferred.
	FamilyOther
	// AddressTaken: another endpoint has the same address and port.
	AddressTaken
	// OfExternalName: the Service of the member is of type ExternalName.
	OfExternalName
)

// Walk returns how the answer to a query comes about. The filter of the query is not used.
func (c *Catalog) Walk(key ServiceKey, q Query) Walk {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.walk(key, q)
}

func (s *state) walk(key ServiceKey, q Query) Walk {
	w := Walk{Service: s.services[key]}
	taken := map[netip.AddrPort]bool{}
	declared := false
	if w.Service != nil {
		_, declared = w.Service.port(q.Port)
	}
	for _, member := range w.Service.members(key) {
		cluster, usable := s.clusterOf(member)
		m := Member{Key: member, Linked: cluster != nil || usable, Synced: usable}
		if usable {
			m.Service = s.services[member]
			m.Slices = s.walkSlices(member, q, declared)
			m.settle(q, taken)
		}
		w.Members = append(w.Members, m)
	}
	return w
}

// walkSlices returns the slices of a member. Whether the Service that it is a member of declares the
// port is given.
func (s *state) walkSlices(member ServiceKey, q Query, declared bool) []WalkedSlice {
	service := s.services[member]
	portOf := func([]SubsetPort) uint16 { return 0 }
	if service != nil {
		portOf = service.portLookup(q.Port, declared)
	}
	var all []WalkedSlice
	name := newHostname(q.Hostname)
	for _, e := range s.slicesOf[member] {
		slice := WalkedSlice{Slice: e.slice}
		at := 0
		for _, subset := range e.slice.Subsets {
			port := portOf(subset.Ports)
			slice.HasPort = slice.HasPort || port != 0
			for i := range subset.Endpoints {
				endpoint := &subset.Endpoints[i]
				slice.Endpoints = append(slice.Endpoints, s.walkEndpoint(endpoint, e.targets[at], asked{port, name})...)
				at++
			}
		}
		all = append(all, slice)
	}
	return all
}

// asked is the port that a subset has for a query, 0 for none, and the hostname of the query.
type asked struct {
	port     uint16
	hostname hostname
}

// walkEndpoint returns the addresses of an endpoint with their fates, as far as it alone decides them.
func (s *state) walkEndpoint(e *SliceEndpoint, w *workloadEntry, q asked) []WalkedEndpoint {
	addresses := e.Addresses
	if e.Target.Kind != "" && len(addresses) > 1 {
		// The addresses of one endpoint are interchangeable; the last one stands for all.
		addresses = addresses[len(addresses)-1:]
	}
	fate := Served
	switch {
	case e.NotReady:
		fate = NotReadyOutcome
	case e.Target.Kind == "":
	case w == nil || w.workload == nil:
		fate = WorkloadUnknown
	case e.TargetUID != 0 && w.workload.UID != 0 && e.TargetUID != w.workload.UID:
		fate = WorkloadReplaced
	}
	if fate == Served && q.port == 0 {
		fate = PortLacking
	}
	var all []WalkedEndpoint
	for _, ip := range addresses {
		w := WalkedEndpoint{Addr: netip.AddrPortFrom(ip, q.port), Endpoint: e, Outcome: fate}
		if fate == Served && !q.hostname.selects(e.Hostname, ip) {
			w.Outcome = OtherHostname
		}
		all = append(all, w)
	}
	return all
}

// settle decides the fates that depend on other endpoints: those of the families, and of addresses
// that several endpoints have.
func (m *Member) settle(q Query, taken map[netip.AddrPort]bool) {
	hasIPv6 := map[WorkloadKey]bool{}
	m.each(func(slice *EndpointSlice, e *WalkedEndpoint) {
		if ofFamily(slice, e.Endpoint) && e.Addr.Addr().Is6() && q.IPv6 {
			hasIPv6[e.Endpoint.Target] = true
		}
	})
	m.each(func(slice *EndpointSlice, e *WalkedEndpoint) {
		family := ofFamily(slice, e.Endpoint)
		switch {
		case m.Service == nil:
		case m.Service.ExternalName:
			e.Outcome = OfExternalName
		case family && e.Addr.Addr().Is6() && !q.IPv6:
			e.Outcome = FamilyOff
		case family && e.Addr.Addr().Is4() && hasIPv6[e.Endpoint.Target]:
			e.Outcome = FamilyOther
		case taken[e.Addr]:
			e.Outcome = AddressTaken
		default:
			taken[e.Addr] = true
		}
	})
}

// ofFamily reports whether the rules about IP families apply to an endpoint.
func ofFamily(slice *EndpointSlice, e *SliceEndpoint) bool {
	return e.Target.Kind != "" && slice.AddressType != ""
}

// each calls f for the endpoints that may still be served.
func (m *Member) each(f func(*EndpointSlice, *WalkedEndpoint)) {
	for i := range m.Slices {
		for k := range m.Slices[i].Endpoints {
			if e := &m.Slices[i].Endpoints[k]; e.Outcome == Served {
				f(m.Slices[i].Slice, e)
			}
		}
	}
}

// ServedService is a Service and how many endpoints it has.
type ServedService struct {
	*Service
	// Ready are the endpoints whose workloads are known, and NotReady the others of its slices. A
	// workload counts once, whatever its addresses.
	Ready, NotReady int
}

// ServiceList returns the Services of our own cluster that pass a filter, sorted by namespace and
// name. The filter is called under a lock, so it has to be quick.
func (c *Catalog) ServiceList(wanted func(ServiceKey) bool) []*Service {
	c.mu.RLock()
	var list []*Service
	for key, s := range c.state.services {
		if key.Cluster == LocalCluster && wanted(key) {
			list = append(list, s)
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Service) int {
		if order := strings.Compare(a.Key.Namespace, b.Key.Namespace); order != 0 {
			return order
		}
		return strings.Compare(a.Key.Name, b.Key.Name)
	})
	return list
}

// CountEndpoints returns how many endpoints a Service has.
func (c *Catalog) CountEndpoints(s *Service) ServedService {
	c.mu.RLock()
	defer c.mu.RUnlock()
	counted := ServedService{Service: s}
	for _, member := range s.members(s.Key) {
		if _, usable := c.state.clusterOf(member); usable {
			ready, notReady := c.state.countEndpoints(member)
			counted.Ready += ready
			counted.NotReady += notReady
		}
	}
	return counted
}

// countEndpoints counts workloads, and addresses of endpoints without one.
func (s *state) countEndpoints(key ServiceKey) (ready, notReady int) {
	type endpoint struct {
		target WorkloadKey
		ip     netip.Addr
	}
	known := map[endpoint]bool{}
	for _, e := range s.slicesOf[key] {
		at := 0
		for _, subset := range e.slice.Subsets {
			for i := range subset.Endpoints {
				for _, w := range s.walkEndpoint(&subset.Endpoints[i], e.targets[at], asked{port: 1}) {
					who := endpoint{target: w.Endpoint.Target}
					if who.target.Kind == "" {
						who.ip = w.Addr.Addr()
					}
					known[who] = known[who] || w.Outcome == Served
				}
				at++
			}
		}
	}
	for _, is := range known {
		if is {
			ready++
		}
	}
	return ready, len(known) - ready
}

// AddressHolders are what has an IP address in our own cluster.
type AddressHolders struct {
	// Services have it as a cluster IP.
	Services []ServiceKey
	// Workloads have it as their own, and Hosts have the port on the host with it.
	Workloads, Hosts []*Workload
	// Slices have an endpoint with it, of any cluster.
	Slices []*EndpointSlice
}

// Holders returns what has an IP address and port. With the port 0, Hosts have any port there.
func (c *Catalog) Holders(a netip.AddrPort) AddressHolders {
	var h AddressHolders
	ip := a.Addr().Unmap()
	c.mu.RLock()
	at := addressKey{LocalCluster, ip}
	h.Services = slices.Clone(c.state.addresses.services[at])
	h.Workloads = workloadsOf(c.state.addresses.workloads[at])
	h.Hosts = slices.DeleteFunc(workloadsOf(c.state.addresses.hosts[at]), func(w *Workload) bool {
		return a.Port() != 0 && w.behind(netip.AddrPortFrom(ip, a.Port())) == 0
	})
	all := make([]*EndpointSlice, 0, len(c.state.slices))
	for _, e := range c.state.slices {
		all = append(all, e.slice)
	}
	c.mu.RUnlock()
	// Slices never change, so this needs no lock, which would hold up every change.
	h.Slices = slices.DeleteFunc(all, func(s *EndpointSlice) bool { return !s.has(ip) })
	slices.SortFunc(h.Slices, func(a, b *EndpointSlice) int {
		return strings.Compare(a.Cluster+"/"+a.Namespace+"/"+a.Name, b.Cluster+"/"+b.Namespace+"/"+b.Name)
	})
	return h
}

func workloadsOf(entries []*workloadEntry) []*Workload {
	var list []*Workload
	for _, e := range entries {
		if e.workload != nil {
			list = append(list, e.workload)
		}
	}
	return list
}

func (s *EndpointSlice) has(ip netip.Addr) bool {
	return slices.ContainsFunc(s.Subsets, func(subset Subset) bool {
		return slices.ContainsFunc(subset.Endpoints, func(e SliceEndpoint) bool { return slices.Contains(e.Addresses, ip) })
	})
}

// FindWorkload looks a workload up, and the slices that name it. The workload is nil when it isn't
// known.
func (c *Catalog) FindWorkload(key WorkloadKey) (*Workload, []*EndpointSlice) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	entry := c.state.namespace(key.Cluster, key.Namespace).workloads[key]
	if entry == nil {
		return nil, nil
	}
	var named []*EndpointSlice
	for _, e := range entry.slices {
		named = append(named, e.slice)
	}
	slices.SortFunc(named, func(a, b *EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return entry.workload, named
}

// ServiceNames returns the names of the Services of a namespace of our own cluster, sorted.
func (c *Catalog) ServiceNames(namespace string) []string {
	var names []string
	for _, s := range c.ServiceList(func(key ServiceKey) bool { return key.Namespace == namespace }) {
		names = append(names, s.Key.Name)
	}
	return names
}

// CountServices returns how many Services our own cluster has.
func (c *Catalog) CountServices() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := 0
	for key := range c.state.services {
		if key.Cluster == LocalCluster {
			n++
		}
	}
	return n
}

// CountExternalWorkloads returns how many ExternalWorkloads of a namespace of our own cluster have
// these labels.
func (c *Catalog) CountExternalWorkloads(namespace string, selector map[string]string) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := 0
	for key, w := range c.state.namespace(LocalCluster, namespace).workloads {
		if key.Kind == ExternalWorkload && w.workload != nil && w.workload.has(selector) {
			n++
		}
	}
	return n
}

func (w *Workload) has(selector map[string]string) bool {
	for k, v := range selector {
		if got, ok := w.Labels.Get(k); !ok || got != v {
			return false
		}
	}
	return true
}
