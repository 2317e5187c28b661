package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/controllers/watched"
)

// groups returns the addresses of pods in one subset for each result of resolving the Service's ports in a
// pod (spec/endpoints.md §6.4). There is one subset unless ports have names. The subsets are not packed or
// sorted yet.
func groups(service *corev1.Service, pods []*watched.Pod) []corev1.EndpointSubset {
	if len(service.Spec.Ports) == 0 && !isHeadless(service) {
		return nil
	}
	g := grouping{
		service: service,
		named:   namedTargets(service),
		ports:   make([]lookup, len(service.Spec.Ports)),
		refs:    make([]corev1.ObjectReference, 0, len(pods)),
	}
	for _, pod := range pods {
		if included(service, pod) {
			g.add(pod, len(pods))
		}
	}
	return g.groups
}

// grouping collects the groups of a Service.
type grouping struct {
	service *corev1.Service
	// named has the indexes of the Service's ports with a target that is a name.
	named  watched.Targets
	groups []corev1.EndpointSubset
	found  [][]lookup               // for each group
	ports  []lookup                 // of the present pod
	refs   []corev1.ObjectReference // one allocation for all pods
}

// lookup is the result of resolving a port of the Service in a pod.
type lookup struct {
	number int32
	ok     bool
}

// add adds a pod to its group, unless it has no address or none of the ports (§5.4, §5.6). A new group gets a
// capacity of room addresses.
func (g *grouping) add(pod *watched.Pod, room int) {
	ip, ok := podIP(g.service, pod)
	if !ok || !g.lookUp(pod) {
		return
	}
	group := g.group(room)
	address := g.address(pod, ip)
	if ready(g.service, pod) {
		group.Addresses = append(group.Addresses, address)
	} else {
		group.NotReadyAddresses = append(group.NotReadyAddresses, address)
	}
}

// namedTargets returns the Service's ports whose targets are names; nil for none.
func namedTargets(service *corev1.Service) watched.Targets {
	var named watched.Targets
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if port.TargetPort.Type == intstr.Int {
			continue
		}
		if named == nil {
			named = watched.Targets{}
		}
		named.Add(i, port)
	}
	return named
}

// lookUp resolves the ports of the Service in a pod (§5.6). It returns false if the Service has ports and the
// pod has none of them.
func (g *grouping) lookUp(pod *watched.Pod) bool {
	some := len(g.ports) == 0
	for i := range g.ports {
		target := &g.service.Spec.Ports[i].TargetPort
		g.ports[i] = lookup{target.IntVal, true}
		if target.Type != intstr.Int {
			g.ports[i] = lookup{}
		}
		some = some || g.ports[i].ok
	}
	if g.named == nil {
		return some
	}
	for _, ports := range [...][]watched.ContainerPort{pod.Ports, pod.SidecarPorts} {
		for i := range ports {
			at := g.named.At(intstr.FromString(ports[i].Name), ports[i].Protocol)
			if len(at) == 0 || g.ports[at[0]].ok {
				continue // of several ports with the name, the first one counts
			}
			for _, index := range at {
				g.ports[index] = lookup{ports[i].Number, true}
			}
			some = true
		}
	}
	return some
}

// group returns the group of the pod whose ports were resolved last.
func (g *grouping) group(room int) *corev1.EndpointSubset {
	for i, found := range g.found {
		if slices.Equal(found, g.ports) {
			return &g.groups[i]
		}
	}
	group := corev1.EndpointSubset{Ports: g.endpointPorts()}
	if len(g.groups) == 0 {
		// Most Services have one group, and most pods are ready.
		group.Addresses = make([]corev1.EndpointAddress, 0, room)
	}
	g.found = append(g.found, slices.Clone(g.ports))
	g.groups = append(g.groups, group)
	return &g.groups[len(g.groups)-1]
}

// endpointPorts returns the ports that were found.
func (g *grouping) endpointPorts() []corev1.EndpointPort {
	var ports []corev1.EndpointPort
	for i, found := range g.ports {
		if !found.ok {
			continue
		}
		port := &g.service.Spec.Ports[i]
		ports = append(ports, corev1.EndpointPort{
			Name: port.Name, Port: found.number, Protocol: port.Protocol, AppProtocol: clone(port.AppProtocol),
		})
	}
	return ports
}

func clone(text *string) *string {
	if text == nil {
		return nil
	}
	copied := *text
	return &copied
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
