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
	// Conflict says who claims the address, for ConflictFound. Rivals are those that claim the
	// address and don't get it, for any subject.
	Conflict string
	Rivals   []Rival

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
		p.byServices(services)
	default:
		p.byEndpoint(key)
	}
}

// byServices answers for a cluster IP that several Services have.
func (p profiler) byServices(keys []ServiceKey) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b ServiceKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range keys[1:] {
		p.snapshot.Rivals = append(p.snapshot.Rivals, Rival{
			IP: p.query.IP, Kept: (&Service{Key: keys[0]}).ID(), Other: (&Service{Key: key}).ID(), Undecided: true,
		})
	}
	p.conflict(fmt.Sprintf("%d Services have the cluster IP %s, such as %s/%s and %s/%s; delete all but one, or create them anew",
		len(keys), p.query.IP, keys[0].Namespace, keys[0].Name, keys[1].Namespace, keys[1].Name))
}

func (p profiler) conflict(what string) {
	p.snapshot.Subject, p.snapshot.Conflict = ConflictFound, what
}

func (p profiler) byService(key ServiceKey) {
	s := p.snapshot
	s.Service = key
	p.dependOn(fact{object: (&Service{Key: key}).ID()})
	service := p.state.services[key]
	s.Opaque = p.options.serviceOpaque(service).Has(p.query.Port) || service != nil && service.OpaqueProtocol.Has(p.query.Port)
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
	for _, found := range [][]*workloadEntry{claimants(own, isPod), claimants(hosts, onHost), claimants(own, external)} {
		if len(found) > 0 {
			p.claimed(at, found)
			return
		}
	}
	p.endpoint(at, nil)
}

// claimed describes an address that workloads claim, in the order of [claimants].
func (p profiler) claimed(at netip.AddrPort, by []*workloadEntry) {
	p.snapshot.Rivals = rivals(at.Addr(), by)
	if r := p.snapshot.Rivals; len(r) == 0 || !r[0].Undecided {
		p.endpoint(at, by[0])
		return
	}
	a, b := by[0].workload.Key, by[1].workload.Key
	p.conflict(fmt.Sprintf("%d workloads have the address %s, such as %s/%s and %s/%s: nothing tells which of them it belongs to; delete the one that is gone",
		len(by), at, a.Namespace, a.Name, b.Namespace, b.Name))
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

// serviceOpaque returns the opaque ports of a Service: the default ones when it has no annotation
// or doesn't exist.
func (o *Options) serviceOpaque(s *Service) PortSet {
	if s == nil || s.OpaquePorts == nil {
		return o.DefaultOpaquePorts
	}
	return *s.OpaquePorts
}
