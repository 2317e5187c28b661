package externalworkloads

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
)

// candidate is a workload with its usable addresses and ports.
type candidate struct {
	*Workload
	addresses []netip.Addr
	// hostname is the hostname of the endpoint. It is empty unless the Service is headless and the name of
	// the workload is a valid hostname.
	hostname string
	// ports are in the order of the Service.
	ports []discoveryv1.EndpointPort
	set   slicestore.PortSet
}

// read returns the workloads whose ports fit, in the order of their names, and the problems of those.
func read(service *corev1.Service, workloads []*Workload) ([]candidate, []Problem) {
	var candidates []candidate
	lookup := newPortLookup(service)
	for _, w := range slices.SortedFunc(slices.Values(workloads), func(a, b *Workload) int { return cmp.Compare(a.Name, b.Name) }) {
		ports, set, fits := lookup.portsOf(w)
		if !fits {
			continue
		}
		c := candidate{Workload: w, addresses: usable(w.IPs), ports: ports, set: set}
		if isHeadless(service) && isHostname(w.Name) {
			c.hostname = w.Name
		}
		candidates = append(candidates, c)
	}
	return candidates, problemsOf(service, lookup, candidates)
}

// usable returns the addresses that an endpoint may have.
func usable(ips []string) []netip.Addr {
	var addresses []netip.Addr
	for _, ip := range ips {
		if a, ok := watched.Address(ip); ok && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	return addresses
}

// portLookup finds the ports of the Service in workloads.
type portLookup struct {
	*watched.PortLookup
	ports []corev1.ServicePort
	// served is true for the ports that a workload serves.
	served []bool
	// sets has the sets of ports by the key of the lookup. Most workloads serve the same ports, and a set of
	// thousands costs milliseconds.
	sets map[string]foundPorts
	// room is how many more ports fit into new sets. omitted is the number of workloads whose sets don't fit.
	room, omitted int
}

type foundPorts struct {
	ports []discoveryv1.EndpointPort
	set   slicestore.PortSet
}

func newPortLookup(service *corev1.Service) *portLookup {
	ports := service.Spec.Ports
	return &portLookup{
		PortLookup: watched.NewDeclaredPortLookup(service), ports: ports, served: make([]bool, len(ports)),
		sets: map[string]foundPorts{}, room: slicestore.MaxPorts,
	}
}

// portsOf returns the ports of the Service that the workload serves (spec/destination.md §8.4.4): those that
// the workload declares with the same protocol. It returns false if the set of ports doesn't fit.
func (l *portLookup) portsOf(w *Workload) ([]discoveryv1.EndpointPort, slicestore.PortSet, bool) {
	found, _, key := l.In(w.Ports)
	if f, known := l.sets[string(key)]; known {
		return f.ports, f.set, true
	}
	for i := range found {
		l.served[i] = l.served[i] || found[i].OK
	}
	if l.room -= len(l.ports); l.room < 0 {
		l.omitted++
		return nil, "", false
	}
	f := foundPorts{ports: make([]discoveryv1.EndpointPort, 0, len(l.ports))}
	for i, p := range found {
		if p.OK {
			f.ports = append(f.ports, discoveryv1.EndpointPort{Name: optional(l.ports[i].Name), Protocol: optional(l.ports[i].Protocol), Port: &p.Number})
		}
	}
	f.set = slicestore.PortSetOf(f.ports)
	l.sets[string(key)] = f
	return f.ports, f.set, true
}

// group is the content of slices with the same address type and ports.
type group struct {
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	set       slicestore.PortSet
	endpoints []discoveryv1.Endpoint
}

// groupsOf returns the endpoints of an address type by their ports (spec/destination.md §8.4.5), in the order
// of the port sets, then of the workloads.
func groupsOf(family discoveryv1.AddressType, candidates []candidate) []*group {
	groups := map[slicestore.PortSet]*group{}
	for i := range candidates {
		c := &candidates[i]
		addresses := c.of(family)
		if len(addresses) == 0 {
			continue
		}
		g := groups[c.set]
		if g == nil {
			g = &group{family: family, ports: c.ports, set: c.set}
			groups[c.set] = g
		}
		g.endpoints = append(g.endpoints, c.endpoint(addresses))
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.set, b.set) })
}

// of returns the addresses of one type.
func (c *candidate) of(family discoveryv1.AddressType) []string {
	var list []string
	for _, a := range c.addresses {
		if a.Is4() == (family == discoveryv1.AddressTypeIPv4) {
			list = append(list, a.String())
		}
	}
	return list
}

// endpoint returns the endpoint of a workload (spec/destination.md §8.4.3).
func (c *candidate) endpoint(addresses []string) discoveryv1.Endpoint {
	ready, serving, terminating := c.Ready, c.Ready, false
	return discoveryv1.Endpoint{
		Addresses:  addresses,
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef: &corev1.ObjectReference{
			Kind: workloadKind, Namespace: c.Namespace, Name: c.Name, UID: types.UID(c.UID),
		},
		Zone:     optional(c.Zone()),
		Hostname: optional(c.hostname),
	}
}

// isHostname returns false for names with a dot and long ones. An ExternalWorkload may have such a name, but
// the API server refuses it as the hostname of an endpoint.
func isHostname(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }
