package watched

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Targets finds the ports of a Service that target a port of a workload, which requires the same
// protocol (spec/endpoints.md §5.6, spec/destination.md §8.4). Not each port of the Service is
// compared with each port of a workload, because both may have thousands. The nil map has no
// targets.
type Targets map[target][]int

type target struct {
	port     intstr.IntOrString
	protocol corev1.Protocol
}

func targetOf(port intstr.IntOrString, protocol corev1.Protocol) target {
	return target{port, cmp.Or(protocol, corev1.ProtocolTCP)}
}

// Add adds a port of the Service, which has this index.
func (t Targets) Add(index int, port *corev1.ServicePort) {
	key := targetOf(intstr.FromInt32(port.TargetPort.IntVal), port.Protocol)
	if port.TargetPort.Type == intstr.String {
		key.port = intstr.FromString(port.TargetPort.StrVal)
	}
	t[key] = append(t[key], index)
}

// At returns the indexes of the ports with a target. If several ports of a workload are at the same
// indexes, the first one counts.
func (t Targets) At(port intstr.IntOrString, protocol corev1.Protocol) []int {
	return t[targetOf(port, protocol)]
}
