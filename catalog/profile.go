package catalog

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// ProfileQuery asks for the profile of an IP address and port, or of a port of a Service or of one of its
// hostnames. It is comparable.
type ProfileQuery struct {
	Cluster string
	// IP is the address. If it is valid, Service and Hostname are ignored.
	IP       netip.Addr
	Service  ServiceKey
	Hostname string
	Port     uint16
	// ClientNamespace is the namespace of the client, empty if unknown. A ServiceProfile in this namespace
	// takes precedence over one in the namespace of the Service.
	ClientNamespace string
	// ClusterDomain completes the names of ServiceProfiles.
	ClusterDomain string
}

// ProfileResult is the kind of object that a [ProfileQuery] found.
type ProfileResult uint8

// The results of profile queries.
const (
	// NothingFound: the Service does not exist, or no endpoint has the hostname.
	NothingFound ProfileResult = iota
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

// ProfileSnapshot is the immutable result of a ProfileQuery. The caller calls Release unless it is stale.
type ProfileSnapshot struct {
	Result ProfileResult
	// Service is the requested Service, by name or by cluster IP.
	Service ServiceKey
	// Profile is the ServiceProfile that applies, nil for none.
	Profile *ServiceProfile
	// Endpoint is the address, and Target the running workload that has it; nil for none.
	Endpoint netip.AddrPort
	Target   *Target
	// Port is the port of the workload. It differs from the port of Endpoint for a hostPort on the address of
	// a node. Mapped is then true: only this port of the workload can be reached at that address.
	Port   uint16
	Mapped bool
	// Cluster is the cluster of the endpoint; nil for our own.
	Cluster *Cluster
	// Opaque is true if the port is opaque.
	Opaque bool
	// ConflictReason names the claimants of the address, for ConflictFound. Conflicts are the conflicts about
	// the address, with any Result.
	ConflictReason string
	Conflicts      []AddressConflict

	watch
}

// Profile returns the result of a query for the current state. It uses only indexes.
func (c *Catalog) Profile(q ProfileQuery) *ProfileSnapshot {
	c.mu.RLock()
	defer c.mu.RUnlock()
	// The client may send an IPv4-mapped IPv6 address.
	q.IP = q.IP.Unmap()
	s := &ProfileSnapshot{watch: c.state.dependencies.newWatch()}
	s.dependsOn = make([]dependency, 0, 4) // an address, a Service, and its ServiceProfile in up to two namespaces
	p := profileResolver{c.state, &c.options, q, s}
	switch {
	case q.IP.IsValid():
		p.byIP()
	case q.Hostname != "":
		p.byHostname()
	default:
		p.byService(q.Service)
	}
	c.state.dependencies.add(&s.watch)
	return s
}

// profileResolver computes the result of one query. It records each lookup as a dependency.
type profileResolver struct {
	state    *state
	options  *Options
	query    ProfileQuery
	snapshot *ProfileSnapshot
}

func (p profileResolver) dependOn(f dependency) {
	p.snapshot.dependsOn = append(p.snapshot.dependsOn, f)
}

func (p profileResolver) byIP() {
	key := addressKey{p.query.Cluster, p.query.IP}
	p.dependOn(dependency{address: key})
	switch services := valuesOf(p.state.addresses.services, key); {
	case len(services) == 1:
		p.byService(services[0])
	case len(services) > 1:
		p.byServices(services)
	default:
		p.byEndpoint(key)
	}
}

// byServices sets the result for a cluster IP that several Services have.
func (p profileResolver) byServices(keys []ServiceKey) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b ServiceKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range keys[1:] {
		p.snapshot.Conflicts = append(p.snapshot.Conflicts, AddressConflict{
			IP: p.query.IP, Winner: (&Service{Key: keys[0]}).ID(), Loser: (&Service{Key: key}).ID(), Undecided: true,
		})
	}
	p.conflict(fmt.Sprintf("%d Services have the cluster IP %s, such as %s/%s and %s/%s; delete all but one, or recreate them",
		len(keys), p.query.IP, keys[0].Namespace, keys[0].Name, keys[1].Namespace, keys[1].Name))
}

func (p profileResolver) conflict(what string) {
	p.snapshot.Result, p.snapshot.ConflictReason = ConflictFound, what
}

func (p profileResolver) byService(key ServiceKey) {
	s := p.snapshot
	s.Service = key
	p.dependOn(dependency{object: (&Service{Key: key}).ID()})
	service := p.state.services[key]
	s.Opaque = p.options.serviceOpaque(service).Has(p.query.Port) || service != nil && service.OpaqueProtocol.Has(p.query.Port)
	s.Profile = p.serviceProfile(key)
	if service == nil {
		s.Result = NothingFound
		return
	}
	_, declared := service.port(p.query.Port)
	switch {
	case !declared:
		s.Result = PortNotDeclared
	case service.ExternalName:
		s.Result = ExternalNameFound
	default:
		s.Result = ServiceFound
	}
}

// serviceProfile returns the ServiceProfile in the namespace of the client, else in that of the Service.
func (p profileResolver) serviceProfile(key ServiceKey) *ServiceProfile {
	id := ID{
		Kind: KindServiceProfile, Cluster: key.Cluster, Namespace: p.query.ClientNamespace,
		Name: key.DNSName("", p.query.ClusterDomain),
	}
	if id.Namespace != "" && id.Namespace != key.Namespace {
		p.dependOn(dependency{object: id})
		if own := p.state.profiles[id]; own != nil {
			return own
		}
	}
	id.Namespace = key.Namespace
	p.dependOn(dependency{object: id})
	return p.state.profiles[id]
}

// byEndpoint finds the workload that has the address: a pod with this IP, else a pod with this hostPort on
// the host with this IP, else an ExternalWorkload.
func (p profileResolver) byEndpoint(key addressKey) {
	at := netip.AddrPortFrom(key.ip, p.query.Port)
	own, hosts := valuesOf(p.state.addresses.workloads, key), valuesOf(p.state.addresses.hosts, key)
	isPod := func(w *Workload) bool { return w.Key.Kind == Pod }
	onHost := func(w *Workload) bool { return w.portFromHost(at) != 0 }
	external := func(w *Workload) bool { return w.Key.Kind == ExternalWorkload && w.hasPort(p.query.Port) }
	for _, found := range [][]*workloadEntry{claimants(own, isPod), claimants(hosts, onHost), claimants(own, external)} {
		if len(found) > 0 {
			p.claimed(at, found)
			return
		}
	}
	p.endpoint(at, nil)
}

// claimed sets the result for an address with claimants, in the order of [claimants].
func (p profileResolver) claimed(at netip.AddrPort, by []*workloadEntry) {
	p.snapshot.Conflicts = conflicts(at.Addr(), by)
	if r := p.snapshot.Conflicts; len(r) == 0 || !r[0].Undecided {
		p.endpoint(at, by[0])
		return
	}
	a, b := by[0].workload.Key, by[1].workload.Key
	p.conflict(fmt.Sprintf("%d workloads have the address %s, such as %s/%s and %s/%s: no rule decides which of them has it; delete the one that no longer runs",
		len(by), at, a.Namespace, a.Name, b.Namespace, b.Name))
}

func (w *Workload) hasPort(port uint16) bool {
	return slices.ContainsFunc(w.Ports, func(p WorkloadPort) bool { return p.Port == port })
}

// portFromHost returns the port of the workload behind an address and port of its host, or zero.
func (w *Workload) portFromHost(at netip.AddrPort) uint16 {
	for _, p := range w.Ports {
		if p.HostPort == at.Port() && p.HostPort != 0 && p.mappedAt(at.Addr()) {
			return p.Port
		}
	}
	return 0
}

// reachedAt returns the port of the workload that is reached at an address and port, and whether it is
// reached through a hostPort.
func (w *Workload) reachedAt(at netip.AddrPort) (port uint16, mapped bool) {
	if w.HostNetwork || slices.Contains(w.IPs, at.Addr()) || !slices.Contains(w.HostIPs, at.Addr()) {
		return at.Port(), false
	}
	if port = w.portFromHost(at); port == 0 {
		return at.Port(), false
	}
	return port, true
}

// mappedAt reports whether the port is mapped at an address of its host.
func (p WorkloadPort) mappedAt(ip netip.Addr) bool {
	return !p.HostIP.IsValid() || p.HostIP == ip || p.HostIP.IsUnspecified() && p.HostIP.Is4() == ip.Is4()
}

// endpoint sets the result to an address and its workload, which may be nil. A pod that does not run yet is
// ignored.
func (p profileResolver) endpoint(at netip.AddrPort, w *workloadEntry) {
	s := p.snapshot
	s.Result, s.Endpoint, s.Port = EndpointFound, at, at.Port()
	if w == nil || w.workload == nil || w.workload.Key.Kind == Pod && !w.workload.Running {
		s.Opaque = p.options.DefaultOpaquePorts.Has(at.Port())
		return
	}
	s.Target = p.state.join(w, p.options)
	s.Port, s.Mapped = s.Target.reachedAt(at)
	s.Opaque = s.Target.Opaque(s.Port)
}

// serviceOpaque returns the opaque ports of a Service: the default ones if it has no annotation or does not
// exist.
func (o *Options) serviceOpaque(s *Service) PortSet {
	if s == nil || s.OpaquePorts == nil {
		return o.DefaultOpaquePorts
	}
	return *s.OpaquePorts
}
