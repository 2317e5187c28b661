package externalworkloads

import (
	"cmp"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
)

// candidate is a workload that the Service selects, with its usable addresses and ports.
type candidate struct {
	*Workload
	addresses []netip.Addr
	// hostname is the hostname of the endpoint. It is empty unless the Service is headless and the name of
	// the workload is a valid hostname.
	hostname string
	// ports are in the order of the Service.
	ports []port
	set   portSet
}

// port is one port of a slice.
type port struct {
	name        string
	protocol    corev1.Protocol
	number      int32
	appProtocol string
}

// portSet identifies a set of ports. Order and explicit defaults make no difference, because Linkerd orders
// ports by a hash and the API server fills in defaults.
type portSet string

func setOf(ports []port) portSet {
	texts := make([]string, len(ports))
	var text []byte
	for i, p := range ports {
		text = strconv.AppendQuote(text[:0], p.name)
		text = append(append(append(text, '/'), orTCP(p.protocol)...), '/')
		text = append(strconv.AppendInt(text, int64(p.number), 10), '/')
		texts[i] = string(strconv.AppendQuote(text, p.appProtocol))
	}
	slices.Sort(texts)
	return portSet(strings.Join(texts, ","))
}

func setOfSlice(s *discoveryv1.EndpointSlice) portSet {
	ports := make([]port, len(s.Ports))
	for i, p := range s.Ports {
		ports[i] = port{value(p.Name), value(p.Protocol), value(p.Port), value(p.AppProtocol)}
	}
	return setOf(ports)
}

// read returns the workloads that the Service selects, in the order of their names, and the problems of
// those.
func read(service *corev1.Service, workloads []*Workload) ([]candidate, []Problem) {
	var candidates []candidate
	for _, w := range workloads {
		if selects(service, w) {
			candidates = append(candidates, candidate{Workload: w})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.Name, b.Name) })
	lookup := newPortLookup(service)
	fitting := candidates[:0]
	for _, c := range candidates {
		var fits bool
		if c.ports, c.set, fits = lookup.portsOf(c.Workload); !fits {
			continue
		}
		c.addresses = usable(c.IPs)
		if isHeadless(service) && isHostname(c.Name) {
			c.hostname = c.Name
		}
		fitting = append(fitting, c)
	}
	return fitting, problemsOf(service, lookup, fitting)
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
	ports   []corev1.ServicePort
	targets watched.Targets
	// served is true for the ports that a workload serves.
	served []bool
	// found has the sets of ports by the numbers of all ports. Most workloads serve the same ports, and a set of
	// thousands costs milliseconds.
	found   map[string]foundPorts
	numbers []int32
	key     []byte
	// room is how many more ports fit into new sets. omitted is the number of workloads whose sets don't fit.
	room, omitted int
}

type foundPorts struct {
	ports []port
	set   portSet
}

func newPortLookup(service *corev1.Service) *portLookup {
	ports := service.Spec.Ports
	l := &portLookup{
		ports: ports, targets: make(watched.Targets, len(ports)), served: make([]bool, len(ports)),
		found: map[string]foundPorts{}, numbers: make([]int32, len(ports)), room: slicestore.MaxPorts,
	}
	for i := range ports {
		l.targets.Add(i, &ports[i])
	}
	return l
}

// portsOf returns the ports of the Service that the workload serves (spec/destination.md §8.4.4): those that
// the workload declares with the same protocol. If several of its ports match, the first one is used. It
// returns false if the set of ports doesn't fit.
func (l *portLookup) portsOf(w *Workload) ([]port, portSet, bool) {
	clear(l.numbers)
	for i := range w.Ports {
		p := &w.Ports[i]
		for _, target := range [...]intstr.IntOrString{intstr.FromString(p.Name), intstr.FromInt32(p.Number)} {
			at := l.targets.At(target, p.Protocol)
			if len(at) == 0 || l.numbers[at[0]] != 0 {
				continue
			}
			for _, index := range at {
				l.numbers[index], l.served[index] = p.Number, true
			}
		}
	}
	l.key = l.key[:0]
	for _, number := range l.numbers {
		l.key = binary.BigEndian.AppendUint32(l.key, uint32(number))
	}
	if f, known := l.found[string(l.key)]; known {
		return f.ports, f.set, true
	}
	if l.room -= len(l.ports); l.room < 0 {
		l.omitted++
		return nil, "", false
	}
	f := foundPorts{ports: make([]port, 0, len(l.ports))}
	for i, number := range l.numbers {
		if number != 0 {
			f.ports = append(f.ports, port{name: l.ports[i].Name, protocol: l.ports[i].Protocol, number: number})
		}
	}
	f.set = setOf(f.ports)
	l.found[string(l.key)] = f
	return f.ports, f.set, true
}

// group is the content of slices with the same address type and ports.
type group struct {
	family    discoveryv1.AddressType
	ports     []port
	set       portSet
	endpoints []discoveryv1.Endpoint
}

// groupsOf returns the endpoints of an address type by their ports (spec/destination.md §8.4.5), in the order
// of the port sets, then of the workloads.
func groupsOf(family discoveryv1.AddressType, candidates []candidate) []*group {
	groups := map[portSet]*group{}
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
