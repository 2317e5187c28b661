package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/controllers/watched"
)

// maxEntries bounds the addresses of a Service, counted once for each port that may need a subset of its own,
// which are those that were found by name. maxPorts bounds the ports of all groups. A Service with 10,000
// ports, and 1,000 pods with another number each for one of them, would need gigabytes.
const maxEntries, maxPorts = 100_000, 250_000

// groups returns the addresses of pods in one subset for each result of resolving the Service's ports in a
// pod (spec/endpoints.md §6.4). There is one subset unless ports have names. The subsets are not packed or
// sorted yet. It reports whether it left out addresses beyond the limits.
func groups(service *corev1.Service, pods []*watched.Pod) (list []corev1.EndpointSubset, cut bool) {
	if len(service.Spec.Ports) == 0 && !isHeadless(service) {
		return nil, false
	}
	g := grouping{
		service: service,
		lookup:  watched.NewPortLookup(service),
		index:   map[string]int{},
		refs:    make([]corev1.ObjectReference, 0, len(pods)),
		entries: maxEntries,
		ports:   maxPorts,
	}
	if named := g.lookup.Named(); named > 0 && len(pods) > min(maxEntries/(1+named), maxPorts/len(service.Spec.Ports)) {
		pods = ordered(service, pods)
	}
	for _, pod := range pods {
		if included(service, pod) {
			g.add(pod, len(pods))
		}
	}
	return g.groups, g.cut
}

// ordered returns the pods in the order in which they are used if there are too many: the ready ones first,
// by name. Each sync then uses the same ones.
func ordered(service *corev1.Service, pods []*watched.Pod) []*watched.Pod {
	rank := func(pod *watched.Pod) int {
		if ready(service, pod) {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(pods), func(a, b *watched.Pod) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// grouping collects the groups of a Service.
type grouping struct {
	service *corev1.Service
	lookup  *watched.PortLookup
	groups  []corev1.EndpointSubset
	index   map[string]int           // of the groups, by the key of the lookup
	refs    []corev1.ObjectReference // one allocation for all pods
	// entries and ports are how many more fit. cut is true if something did not fit.
	entries, ports int
	cut            bool
}

// add adds a pod to its group, unless it has no address or none of the ports (§5.4, §5.6), or doesn't fit. A
// new group gets a capacity of room addresses.
func (g *grouping) add(pod *watched.Pod, room int) {
	ip, ok := podIP(g.service, pod)
	if !ok {
		return
	}
	found, byName, key := g.lookup.In(pod.Ports, pod.SidecarPorts)
	if g.lookup.Lacks(byName) {
		return
	}
	group := g.group(found, key, room)
	if g.entries -= 1 + byName; group == nil || g.entries < 0 {
		g.cut = true
		return
	}
	address := g.address(pod, ip)
	if ready(g.service, pod) {
		group.Addresses = append(group.Addresses, address)
	} else {
		group.NotReadyAddresses = append(group.NotReadyAddresses, address)
	}
}

// group returns the group of a pod with these ports, or nil if a new group doesn't fit.
func (g *grouping) group(found []watched.FoundPort, key []byte, room int) *corev1.EndpointSubset {
	if i, known := g.index[string(key)]; known {
		return &g.groups[i]
	}
	if g.ports -= len(found); g.ports < 0 {
		return nil
	}
	group := corev1.EndpointSubset{Ports: g.endpointPorts(found)}
	if len(g.groups) == 0 {
		// Most Services have one group, and most pods are ready.
		group.Addresses = make([]corev1.EndpointAddress, 0, room)
	}
	g.index[string(key)] = len(g.groups)
	g.groups = append(g.groups, group)
	return &g.groups[len(g.groups)-1]
}

// endpointPorts returns the ports that were found.
func (g *grouping) endpointPorts(found []watched.FoundPort) []corev1.EndpointPort {
	ports := slices.Grow([]corev1.EndpointPort(nil), len(found))
	for i, f := range found {
		if !f.OK {
			continue
		}
		port := &g.service.Spec.Ports[i]
		ports = append(ports, corev1.EndpointPort{
			Name: port.Name, Port: f.Number, Protocol: port.Protocol, AppProtocol: port.AppProtocol,
		})
	}
	return ports
}

// address returns the address of a pod (§5.5).
func (g *grouping) address(pod *watched.Pod, ip string) corev1.EndpointAddress {
	g.refs = append(g.refs, corev1.ObjectReference{
		Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID),
	})
	address := corev1.EndpointAddress{IP: ip, Hostname: hostname(g.service, pod), TargetRef: &g.refs[len(g.refs)-1]}
	if pod.Node != "" {
		// The API server refuses an empty name (§21 C1).
		address.NodeName = &pod.Node
	}
	return address
}
