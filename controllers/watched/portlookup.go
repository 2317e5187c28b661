package watched

import (
	"encoding/binary"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PortLookup finds the ports of a Service in pods (spec/endpoints.md §5.6). It is not safe for concurrent
// use.
type PortLookup struct {
	ports []corev1.ServicePort
	// targets has the indexes of the Service's ports with a target that is a name, and named lists them.
	targets Targets
	named   []int
	found   []FoundPort
	key     []byte
}

// FoundPort is the number of a port in a pod. If OK is false, the pod lacks the port.
type FoundPort struct {
	Number int32
	OK     bool
}

// NewPortLookup returns a lookup of a Service's ports.
func NewPortLookup(service *corev1.Service) *PortLookup {
	l := &PortLookup{ports: service.Spec.Ports, found: make([]FoundPort, len(service.Spec.Ports))}
	for i := range l.ports {
		port := &l.ports[i]
		if port.TargetPort.Type == intstr.Int {
			l.found[i] = FoundPort{port.TargetPort.IntVal, true}
			continue
		}
		if l.targets == nil {
			l.targets = Targets{}
		}
		l.targets.Add(i, port)
		l.named = append(l.named, i)
	}
	return l
}

// Named returns the number of the Service's ports with a target that is a name. All pods have the same
// numbers of the other ports.
func (l *PortLookup) Named() int { return len(l.named) }

// Lacks reports whether a pod of which so many ports were found by name has none of the Service's ports
// (spec/endpoints.md §5.6). If the Service has no ports, no pod lacks them.
func (l *PortLookup) Lacks(byName int) bool {
	return byName == 0 && len(l.named) > 0 && len(l.named) == len(l.ports)
}

// In returns the ports of the Service in a pod, by their index, how many of them were found by name, and a
// key that is equal for pods with the same ports. The list and the key are valid until the next call.
func (l *PortLookup) In(pod *Pod) (found []FoundPort, byName int, key []byte) {
	if len(l.named) == 0 {
		return l.found, 0, nil
	}
	for _, i := range l.named {
		l.found[i] = FoundPort{}
	}
	for _, ports := range [...][]ContainerPort{pod.Ports, pod.SidecarPorts} {
		for i := range ports {
			at := l.targets.At(intstr.FromString(ports[i].Name), ports[i].Protocol)
			if len(at) == 0 || l.found[at[0]].OK {
				continue // of several ports with the name, the first one counts
			}
			for _, index := range at {
				l.found[index] = FoundPort{ports[i].Number, true}
			}
			byName += len(at)
		}
	}
	l.key = l.key[:0]
	for _, i := range l.named {
		// The number of a port that is not found is zero, which no port of a container has.
		l.key = binary.BigEndian.AppendUint32(l.key, uint32(l.found[i].Number))
	}
	return l.found, byName, l.key
}
