package watched

import (
	"encoding/binary"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PortLookup finds the ports of a Service in pods (spec/endpoints.md §5.6) or in ExternalWorkloads
// (spec/destination.md §8.4.4). It is not safe for concurrent use.
type PortLookup struct {
	ports []corev1.ServicePort
	// declared is true if a target that is a number must be declared, too.
	declared bool
	// targets has the indexes of the Service's ports that are looked for, and sought lists them: those with a
	// target that is a name, or all.
	targets Targets
	sought  []int
	found   []FoundPort
	key     []byte
}

// FoundPort is the number of a port in a workload. If OK is false, the workload lacks the port.
type FoundPort struct {
	Number int32
	OK     bool
}

// NewPortLookup returns a lookup of a Service's ports in pods. A pod has all ports with a number as their
// target.
func NewPortLookup(service *corev1.Service) *PortLookup { return newPortLookup(service, false) }

// NewDeclaredPortLookup returns a lookup of a Service's ports in workloads that declare all of their ports.
func NewDeclaredPortLookup(service *corev1.Service) *PortLookup { return newPortLookup(service, true) }

func newPortLookup(service *corev1.Service, declared bool) *PortLookup {
	l := &PortLookup{ports: service.Spec.Ports, declared: declared, found: make([]FoundPort, len(service.Spec.Ports))}
	for i := range l.ports {
		port := &l.ports[i]
		if port.TargetPort.Type == intstr.Int && !declared {
			l.found[i] = FoundPort{port.TargetPort.IntVal, true}
			continue
		}
		if l.targets == nil {
			l.targets = Targets{}
		}
		l.targets.Add(i, port)
		l.sought = append(l.sought, i)
	}
	return l
}

// Named returns the number of the Service's ports that are looked for, which are those with a
// target that is a name. All pods have the same numbers of the other ports.
func (l *PortLookup) Named() int { return len(l.sought) }

// Lacks reports whether a pod of which so many ports were found by name has none of the Service's ports
// (spec/endpoints.md §5.6). If the Service has no ports, no pod lacks them.
func (l *PortLookup) Lacks(byName int) bool {
	return byName == 0 && len(l.sought) > 0 && len(l.sought) == len(l.ports)
}

// In looks for the ports of the Service in a workload with these lists of ports. It returns the ports by
// their index in the Service, the number of found ports, and a key that is equal for workloads with the same
// ports. The list and the key are valid until the next call.
func (l *PortLookup) In(lists ...[]ContainerPort) (found []FoundPort, n int, key []byte) {
	if len(l.sought) == 0 {
		return l.found, 0, nil
	}
	for _, i := range l.sought {
		l.found[i] = FoundPort{}
	}
	for _, ports := range lists {
		for i := range ports {
			n += l.find(intstr.FromString(ports[i].Name), &ports[i])
			if l.declared {
				n += l.find(intstr.FromInt32(ports[i].Number), &ports[i])
			}
		}
	}
	l.key = l.key[:0]
	for _, i := range l.sought {
		// The number of a port that is not found is zero, which no port of a workload has.
		l.key = binary.BigEndian.AppendUint32(l.key, uint32(l.found[i].Number))
	}
	return l.found, n, l.key
}

// find records a port of a workload for the ports of the Service with a target, and returns their number. Of
// several ports of the workload, the first one counts.
func (l *PortLookup) find(target intstr.IntOrString, port *ContainerPort) int {
	at := l.targets.At(target, port.Protocol)
	if len(at) == 0 || l.found[at[0]].OK {
		return 0
	}
	for _, index := range at {
		l.found[index] = FoundPort{port.Number, true}
	}
	return len(at)
}
