package catalog

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// ProfileQuery asks how to treat traffic to an IP address and port, or to a port of a Service or
// of one of its hostnames. It is comparable.
type ProfileQuery struct {
	Cluster string
	// IP, when valid, is the address; Service and Hostname are not used then.
	IP       netip.Addr
	Service  ServiceKey
	Hostname string
	Port     uint16
	// ClientNamespace is the namespace of the client, empty when it is unknown. A
	// ServiceProfile there takes precedence over the one in the Service's namespace.
	ClientNamespace string
	// ClusterDomain completes the names of ServiceProfiles.
	ClusterDomain string
}

// ProfileSubject is what a [ProfileQuery] found.
type ProfileSubject uint8

// The subjects of profiles.
const (
	// NothingFound: there is no such Service, or no endpoint of that hostname.
	NothingFound ProfileSubject = iota
	// ServiceFound: a Service that declares the port.
	ServiceFound
	// PortNotDeclared: a Service that does not declare the port.
	PortNotDeclared
	// ExternalNameFound: a Service of type ExternalName that declares the port.
	ExternalNameFound
	// EndpointFound: an address, with or without a workload.
	EndpointFound
	// ConflictFound: several objects claim the address.
	ConflictFound
)

// ProfileSnapshot is the answer to a ProfileQuery at one time. It never changes.
// The caller releases it when it is no longer needed, unless it is stale.
type ProfileSnapshot struct {
	Subject ProfileSubject
	// Service is the Service asked for, by name or by cluster IP.
	Service ServiceKey
	// Profile is the ServiceProfile in force, nil for none.
	Profile *ServiceProfile
	// Endpoint and Target describe the address; Target is nil when no running workload
	// has it.
	Endpoint netip.AddrPort
	Target   *Target
	// Port is the port of the workload that Endpoint leads to. It is another one than that of
	// Endpoint if the address is that of a node. Mapped is then true: nothing but this port of
	// the workload can be reached there.
	Port   uint16
	Mapped bool
	// Cluster is where the endpoint is; nil for our own cluster.
	Cluster *Cluster
	// Opaque is true for opaque traffic.
	Opaque bool
	// Conflict says who claims the address.
	Conflict string

	dependsOn []fact
	stale     chan struct{}
	facts     *facts
}

// Stale returns a channel that closes when the snapshot is out of date.
func (s *ProfileSnapshot) Stale() <-chan struct{} { return s.stale }

// Release tells the catalog that nobody needs the snapshot: the channel of Stale may never close.
func (s *ProfileSnapshot) Release() { s.facts.forget(s) }

// Profile answers a query from the current state. It only looks things up in indexes.
func (c *Catalog) Profile(q ProfileQuery) *ProfileSnapshot {
	c.mu.RLock()
	defer c.mu.RUnlock()
	// An IPv4 address may be written as an IPv6 address.
	q.IP = q.IP.Unmap()
	s := &ProfileSnapshot{stale: make(chan struct{}), facts: &c.state.facts}
	p := profiler{c.state, &c.options, q, s}
	switch {
	case q.IP.IsValid():
		p.byIP()
	case q.Hostname != "":
		p.byHostname()
	default:
		p.byService(q.Service)
	}
	c.state.facts.watch(s)
	return s
}

// profiler answers one query. It notes the fact of each look-up, on which the answer depends.
type profiler struct {
	state    *state
	options  *Options
	query    ProfileQuery
	snapshot *ProfileSnapshot
}

func (p profiler) dependOn(f fact) { p.snapshot.dependsOn = append(p.snapshot.dependsOn, f) }

func (p profiler) byIP() {
	key := addressKey{p.query.Cluster, p.query.IP}
	p.dependOn(fact{address: key})
	switch services := p.state.addresses.services[key]; {
	case len(services) == 1:
		p.byService(services[0])
	case len(services) > 1:
		p.conflict(fmt.Sprintf("%d Services have the cluster IP %s", len(services), p.query.IP))
	default:
		p.byEndpoint(key)
	}
}

func (p profiler) conflict(what string) {
	p.snapshot.Subject, p.snapshot.Conflict = ConflictFound, what
}

func (p profiler) byService(key ServiceKey) {
	s := p.snapshot
	s.Service = key
	p.dependOn(fact{object: (&Service{Key: key}).ID()})
	service := p.state.services[key]
	s.Opaque = p.options.serviceOpaque(service).Has(p.query.Port)
	s.Profile = p.serviceProfile(key)
	if service == nil {
		s.Subject = NothingFound
		return
	}
	_, declared := service.port(p.query.Port)
	switch {
	case !declared:
		s.Subject = PortNotDeclared
	case service.ExternalName:
		s.Subject = ExternalNameFound
	default:
		s.Subject = ServiceFound
	}
}

// serviceProfile returns the profile in the client's namespace, else the one in
// the Service's own.
func (p profiler) serviceProfile(key ServiceKey) *ServiceProfile {
	id := ID{
		Kind: KindServiceProfile, Cluster: key.Cluster, Namespace: p.query.ClientNamespace,
		Name: key.Name + "." + key.Namespace + ".svc." + p.query.ClusterDomain,
	}
	if id.Namespace != "" && id.Namespace != key.Namespace {
		p.dependOn(fact{object: id})
		if own := p.state.profiles[id]; own != nil {
			return own
		}
	}
	id.Namespace = key.Namespace
	p.dependOn(fact{object: id})
	return p.state.profiles[id]
}

// byEndpoint finds the workload that has the address: a pod with this IP, then a pod that has the
// port on the host with this IP, then an ExternalWorkload.
func (p profiler) byEndpoint(key addressKey) {
	at := netip.AddrPortFrom(key.ip, p.query.Port)
	own, hosts := p.state.addresses.workloads[key], p.state.addresses.hosts[key]
	isPod := func(w *Workload) bool { return w.Key.Kind == Pod }
	onHost := func(w *Workload) bool { return w.behind(at) != 0 }
	external := func(w *Workload) bool { return w.Key.Kind == ExternalWorkload && w.hasPort(p.query.Port) }
	for _, candidates := range [][]*workloadEntry{current(own, isPod), current(hosts, onHost), current(own, external)} {
		switch len(candidates) {
		case 0:
		case 1:
			p.endpoint(at, candidates[0])
			return
		default:
			a, b := candidates[0].workload.Key, candidates[1].workload.Key
			p.conflict(fmt.Sprintf("%d workloads have the address %s, such as %s/%s and %s/%s",
				len(candidates), at, a.Namespace, a.Name, b.Namespace, b.Name))
			return
		}
	}
	p.endpoint(at, nil)
}

// current returns the workloads to keep that have their address now. A pod that is being deleted
// has it while it runs and no other pod has it.
func current(list []*workloadEntry, keep func(*Workload) bool) []*workloadEntry {
	kept := filter(list, func(w *Workload) bool { return keep(w) && !w.Finished && !w.Terminating })
	if len(kept) > 0 {
		return kept
	}
	kept = filter(list, func(w *Workload) bool { return keep(w) && w.Running && w.Terminating })
	slices.SortStableFunc(kept, func(a, b *workloadEntry) int { return b.workload.Created.Compare(a.workload.Created) })
	return kept[:min(1, len(kept))]
}

// filter returns the workloads to keep, sorted by name, so that no answer depends on the order in
// which they were put.
func filter(list []*workloadEntry, keep func(*Workload) bool) []*workloadEntry {
	var kept []*workloadEntry
	for _, w := range list {
		if keep(w.workload) {
			kept = append(kept, w)
		}
	}
	slices.SortFunc(kept, func(a, b *workloadEntry) int {
		v, w := a.workload.Key, b.workload.Key
		return cmp.Or(cmp.Compare(v.Namespace, w.Namespace), cmp.Compare(v.Name, w.Name))
	})
	return kept
}

func (w *Workload) hasPort(port uint16) bool {
	return slices.ContainsFunc(w.Ports, func(p WorkloadPort) bool { return p.Port == port })
}

// behind returns the port of the workload that an address and port of its host lead to, zero for
// none.
func (w *Workload) behind(at netip.AddrPort) uint16 {
	for _, p := range w.Ports {
		if p.HostPort == at.Port() && p.HostPort != 0 && p.mappedAt(at.Addr()) {
			return p.Port
		}
	}
	return 0
}

// reachedAt returns the port of the workload that an address and port lead to, and whether the
// address is that of its node.
func (w *Workload) reachedAt(at netip.AddrPort) (port uint16, mapped bool) {
	if w.HostNetwork || slices.Contains(w.IPs, at.Addr()) || !slices.Contains(w.HostIPs, at.Addr()) {
		return at.Port(), false
	}
	if port = w.behind(at); port == 0 {
		return at.Port(), false
	}
	return port, true
}

// mappedAt reports whether the port is mapped at an address of its host.
func (p WorkloadPort) mappedAt(ip netip.Addr) bool {
	return !p.HostIP.IsValid() || p.HostIP == ip || p.HostIP.IsUnspecified() && p.HostIP.Is4() == ip.Is4()
}

// endpoint describes an address; w is nil when no workload is known to have it. A pod that
// doesn't run yet counts as unknown.
func (p profiler) endpoint(at netip.AddrPort, w *workloadEntry) {
	s := p.snapshot
	s.Subject, s.Endpoint, s.Port = EndpointFound, at, at.Port()
	if w == nil || w.workload == nil || w.workload.Key.Kind == Pod && !w.workload.Running {
		s.Opaque = p.options.DefaultOpaquePorts.Has(at.Port())
		return
	}
	s.Target = p.state.join(w, p.options)
	s.Port, s.Mapped = s.Target.reachedAt(at)
	s.Opaque = s.Target.Opaque(s.Port)
}

// byHostname finds the endpoint of a Service with the hostname, ready or not, in the first of its
// members that has one.
func (p profiler) byHostname() {
	key := p.query.Service
	p.snapshot.Service = key
	p.dependOn(fact{object: (&Service{Key: key}).ID()})
	for _, member := range p.state.services[key].members(key) {
		if member.Cluster != key.Cluster {
			p.dependOn(fact{object: (&Cluster{Name: member.Cluster}).ID()})
		}
		p.dependOn(fact{slicesOf: member})
		cluster, usable := p.state.clusterOf(member)
		if usable && p.byHostnameOf(member) {
			p.snapshot.Cluster = cluster
			return
		}
	}
	p.snapshot.Subject = NothingFound
}

// byHostnameOf is byHostname for one member. It returns false when the member has no such
// endpoint.
func (p profiler) byHostnameOf(member ServiceKey) bool {
	e, target := p.state.endpointNamed(member, p.query.Hostname)
	if e == nil {
		return false
	}
	at := e.Addresses[0]
	if target != nil {
		p.dependOn(fact{object: e.Target.ID()})
		if w := target.workload; w != nil && w.Key.Kind == Pod && len(w.IPs) > 0 {
			at = w.IPs[0]
		}
	}
	p.endpoint(netip.AddrPortFrom(at, p.query.Port), target)
	return true
}

// endpointNamed returns the first endpoint with the hostname, a ready one if there is any, and the
// workload that it names.
func (s *state) endpointNamed(key ServiceKey, hostname string) (found *SliceEndpoint, target *workloadEntry) {
	for _, entry := range s.slicesOf[key] {
		at := 0
		for _, subset := range entry.slice.Subsets {
			for i := range subset.Endpoints {
				e := &subset.Endpoints[i]
				if e.Hostname == hostname && len(e.Addresses) > 0 && (found == nil || found.NotReady && !e.NotReady) {
					found, target = e, entry.targets[at]
				}
				at++
			}
		}
	}
	return found, target
}

// serviceOpaque returns the opaque ports of a Service: the default ones when it has no annotation
// or doesn't exist.
func (o *Options) serviceOpaque(s *Service) PortSet {
	if s == nil || s.OpaquePorts == nil {
		return o.DefaultOpaquePorts
	}
	return *s.OpaquePorts
}
