package endpointslices

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/controllers/subsets"
	"github.com/signpostd/signpost/controllers/watched"
)

// manyPorts is the number of ports of a Service from which the library gets aliases instead.
const manyPorts = 16

// aliases stand for the sets of ports of a Service with many ports in calls of the library, which hashes all
// ports of each pod and, to sort them, of each comparison: 1,000 ports of 200 pods took 15 s of CPU in each
// sync. The library gets a Service with one port, whose number in a pod or a slice is the alias of the set.
// The nil aliases replace nothing.
type aliases struct {
	service *corev1.Service
	lookup  *watched.PortLookup
	// sets has the sets by alias, from 1. byPorts has their aliases by the ports, and byKey by the key of the
	// lookup.
	sets    []*portSet
	byPorts map[string]int32
	byKey   map[string]int32
	// most is how many ports the sets may have, and room how many more fit. omitted is the number of pods whose
	// sets don't fit.
	most, room, omitted int
}

// portSet is a set of ports. They are put into the library's order when they are needed.
type portSet struct {
	ports  []discoveryv1.EndpointPort
	sorted bool
}

// aliasName is the name of the port that the library gets.
const aliasName = "alias"

// newAliases returns the aliases for a Service, with room for most ports; nil if it has fewer than
// many ports.
func newAliases(service *corev1.Service, many, most int) *aliases {
	if len(service.Spec.Ports) < many {
		return nil
	}
	return &aliases{
		service: service, lookup: watched.NewPortLookup(service),
		byPorts: map[string]int32{}, byKey: map[string]int32{}, most: most, room: most,
	}
}

// serviceFor returns the Service for the library.
func (a *aliases) serviceFor(service *corev1.Service) *corev1.Service {
	if a == nil {
		return service
	}
	aliased := *service
	aliased.Spec.Ports = []corev1.ServicePort{{Port: 1, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString(aliasName)}}
	return &aliased
}

// podsFor returns the pods for the library. Pods whose ports don't fit are left out.
func (a *aliases) podsFor(pods []*watched.Pod) []*watched.Pod {
	if a == nil {
		return pods
	}
	if len(pods)*len(a.service.Spec.Ports) > a.most {
		// The same pods have to be left out each time.
		pods = slices.SortedFunc(slices.Values(pods), func(a, b *watched.Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
	aliased := make([]*watched.Pod, 0, len(pods))
	ports := map[int32][]watched.ContainerPort{}
	for _, pod := range pods {
		alias, ok := a.ofPod(pod)
		if !ok {
			a.omitted++
			continue
		}
		replaced := *pod
		replaced.Ports, replaced.SidecarPorts = ports[alias], nil
		if alias > 0 && replaced.Ports == nil {
			replaced.Ports = []watched.ContainerPort{{Name: aliasName, Number: alias, Protocol: corev1.ProtocolTCP}}
			ports[alias] = replaced.Ports
		}
		aliased = append(aliased, &replaced)
	}
	return aliased
}

// ofPod returns the alias of a pod's ports, zero for none, or false if they don't fit.
func (a *aliases) ofPod(pod *watched.Pod) (int32, bool) {
	found, byName, key := a.lookup.In(pod.Ports, pod.SidecarPorts)
	if a.lookup.Lacks(byName) {
		return 0, true
	}
	if alias, known := a.byKey[string(key)]; known {
		return alias, true
	}
	if a.room -= len(found); a.room < 0 {
		return 0, false
	}
	ports := make([]discoveryv1.EndpointPort, 0, len(found))
	for i := range found {
		if found[i].OK {
			port := &a.service.Spec.Ports[i]
			number := found[i].Number
			ports = append(ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &number, Protocol: &port.Protocol, AppProtocol: port.AppProtocol})
		}
	}
	alias := a.of(ports)
	a.byKey[string(key)] = alias
	return alias, true
}

// of returns the alias of a set of ports, which isn't empty.
func (a *aliases) of(ports []discoveryv1.EndpointPort) int32 {
	key := keyOf(ports)
	alias, known := a.byPorts[key]
	if !known {
		a.sets = append(a.sets, &portSet{ports: ports})
		alias = int32(len(a.sets))
		a.byPorts[key] = alias
	}
	return alias
}

// slicesFor returns copies of slices for the library, which compares their ports with those of pods.
func (a *aliases) slicesFor(existing []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	if a == nil {
		return existing
	}
	aliased := make([]*discoveryv1.EndpointSlice, len(existing))
	for i, e := range existing {
		aliased[i] = e
		if len(e.Ports) > 0 {
			replaced := *e
			replaced.Ports = a.portsOf(a.of(e.Ports))
			aliased[i] = &replaced
		}
	}
	return aliased
}

// portsOf returns the ports that the library makes of the number of a pod's port.
func (a *aliases) portsOf(alias int32) []discoveryv1.EndpointPort {
	name, protocol := "", corev1.ProtocolTCP
	return []discoveryv1.EndpointPort{{Name: &name, Port: &alias, Protocol: &protocol}}
}

// restore gives a slice of the library its ports.
func (a *aliases) restore(e *discoveryv1.EndpointSlice) {
	if a == nil || len(e.Ports) == 0 {
		return
	}
	set := a.sets[*e.Ports[0].Port-1]
	if !set.sorted {
		set.ports, set.sorted = slices.Clone(set.ports), true
		subsets.SortByDigest(set.ports)
	}
	e.Ports = set.ports
}

// problem returns the message about the pods that were left out; empty if there are none.
func (a *aliases) problem() string {
	if a == nil || a.omitted == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the pods are in no EndpointSlice because the numbers of named ports differ among pods, and the %d ports of the Service, counted once for each combination of numbers, are more than %d; give the ports the same numbers in all pods",
		a.omitted, len(a.service.Spec.Ports), a.most)
}

// keyOf returns a text that is equal for equal sets of ports, in whatever order.
func keyOf(ports []discoveryv1.EndpointPort) string {
	list := make([]string, len(ports))
	var text []byte
	for i := range ports {
		p := &ports[i]
		text = appendText(text[:0], p.Name)
		text = appendText(text, p.Protocol)
		text = appendText(text, p.AppProtocol)
		if p.Port != nil {
			text = binary.BigEndian.AppendUint32(text, uint32(*p.Port))
		}
		list[i] = string(text)
	}
	slices.Sort(list)
	size := 0
	for _, port := range list {
		size += len(port) + binary.MaxVarintLen32
	}
	key := make([]byte, 0, size)
	for i := range list {
		key = appendText(key, &list[i])
	}
	return string(key)
}

// appendText appends a text with its length, and nil as another value than the empty text.
func appendText[T ~string](to []byte, text *T) []byte {
	if text == nil {
		return append(to, 0)
	}
	return append(binary.AppendUvarint(to, uint64(len(*text))+1), *text...)
}
