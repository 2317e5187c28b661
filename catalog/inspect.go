package catalog

import (
	"net/netip"
	"slices"
	"strings"
)

// ServedService is a Service and its numbers of endpoints.
type ServedService struct {
	*Service
	// Ready counts the ready endpoints with known workloads, NotReady the other endpoints of its slices. A
	// workload with several addresses counts once.
	Ready, NotReady int
}

// ServiceList returns the Services of our own cluster that pass a filter, sorted by namespace and name. The
// filter is called under a lock, so it must be fast.
func (c *Catalog) ServiceList(wanted func(ServiceKey) bool) []*Service {
	c.mu.RLock()
	list := c.state.localServices(wanted)
	c.mu.RUnlock()
	sortServices(list)
	return list
}

// CountEndpoints counts the endpoints of a Service.
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
	for _, e := range s.sortedSlices(key) {
		at := 0
		for _, subset := range e.slice.Subsets {
			for i := range subset.Endpoints {
				for _, w := range s.explainEndpoint(&subset.Endpoints[i], e.targets[at], addressQuery{port: 1}) {
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

// AddressHolders are the objects of our own cluster with an IP address.
type AddressHolders struct {
	// Services have the address as a cluster IP.
	Services []ServiceKey
	// Workloads have the address as their own. Hosts have a hostPort on the host with the address.
	Workloads, Hosts []*Workload
	// Slices of all clusters have an endpoint with the address.
	Slices []*EndpointSlice
}

// Holders returns the objects with an IP address and port. The port 0 stands for any hostPort.
func (c *Catalog) Holders(a netip.AddrPort) AddressHolders {
	var h AddressHolders
	ip := a.Addr().Unmap()
	c.mu.RLock()
	at := addressKey{LocalCluster, ip}
	h.Services = slices.Clone(valuesOf(c.state.addresses.services, at))
	h.Workloads = workloadsOf(valuesOf(c.state.addresses.workloads, at))
	h.Hosts = slices.DeleteFunc(workloadsOf(valuesOf(c.state.addresses.hosts, at)), func(w *Workload) bool {
		return a.Port() != 0 && w.portFromHost(netip.AddrPortFrom(ip, a.Port())) == 0
	})
	all := make([]*EndpointSlice, 0, len(c.state.slices))
	for _, e := range c.state.slices {
		all = append(all, e.slice)
	}
	c.mu.RUnlock()
	// Slices are immutable, so this long search needs no lock.
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

// FindWorkload looks up a workload and the slices that name it. An unknown workload is nil.
func (c *Catalog) FindWorkload(key WorkloadKey) (*Workload, []*EndpointSlice) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	entry := c.state.namespace(key.Cluster, key.Namespace).workloads[key]
	if entry == nil {
		return nil, nil
	}
	var named []*EndpointSlice
	for _, e := range entry.slices.list() {
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

// CountServices counts the Services of our own cluster.
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

// CountExternalWorkloads counts the ExternalWorkloads of a namespace of our own cluster with these labels.
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
