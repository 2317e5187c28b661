package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// An Endpoints object of a few kilobytes can ask for any number of endpoints: each port of the same name, and
// each port with addresses of its own, needs another slice with all addresses.
func TestHostilePorts(t *testing.T) {
	const ports, addresses = 600, 900
	all := corev1.EndpointSubset{}
	for i := range addresses {
		all.Addresses = append(all.Addresses, corev1.EndpointAddress{IP: fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)})
	}
	sameName, ownAddresses := all, []corev1.EndpointSubset{{Addresses: all.Addresses}}
	for i := range ports {
		sameName.Ports = append(sameName.Ports, corev1.EndpointPort{Name: "a", Port: int32(i + 1), Protocol: corev1.ProtocolTCP})
		port := corev1.EndpointPort{Name: fmt.Sprint("p", i), Port: int32(i + 1), Protocol: corev1.ProtocolTCP}
		ownAddresses[0].Ports = append(ownAddresses[0].Ports, port)
		ownAddresses = append(ownAddresses, corev1.EndpointSubset{
			Addresses: []corev1.EndpointAddress{{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}}, Ports: []corev1.EndpointPort{port},
		})
	}
	for name, list := range map[string][]corev1.EndpointSubset{"ports of one name": {sameName}, "addresses at one port": ownAddresses} {
		plan := Compute(endpointsOf(list...), bare(), nil, 1000)
		if got := plan.Stats.Endpoints; got > maxEndpoints || got < maxEndpoints/2 {
			t.Errorf("%s: %d endpoints, want at most %d and at least half of them", name, got, maxEndpoints)
		}
		if plan.Stats.Skipped == 0 {
			t.Errorf("%s: no skipped addresses", name)
		}
		if len(plan.Problems) != 1 || plan.Problems[0].Reason != TooManyAddressesToMirror || !strings.Contains(plan.Problems[0].Message, fmt.Sprint(maxEndpoints)) {
			t.Errorf("%s: problems %v, want %s with the limit %d", name, plan.Problems, TooManyAddressesToMirror, maxEndpoints)
		}
	}
}

// An Endpoints object can have different ports for each address, and its labels and annotations are on each
// slice.
func TestHostileSlices(t *testing.T) {
	var list []corev1.EndpointSubset
	for i := range 2 * maxSlices {
		list = append(list, corev1.EndpointSubset{
			Addresses: []corev1.EndpointAddress{{IP: fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)}},
			Ports:     []corev1.EndpointPort{{Port: int32(i + 1), Protocol: corev1.ProtocolTCP}},
		})
	}
	small, large := endpointsOf(list...), endpointsOf(list...)
	large.Annotations = map[string]string{"example.org/large": strings.Repeat("x", 256<<10)}
	for _, test := range []struct {
		name      string
		endpoints *corev1.Endpoints
		want      int
	}{{"small", small, maxSlices}, {"large annotation", large, maxMetadata / (256 << 10)}} {
		plan := Compute(test.endpoints, bare(), nil, 1000)
		if got := len(plan.Create); got > test.want || got < test.want-1 {
			t.Errorf("%s: %d slices, want %d", test.name, got, test.want)
		}
		if plan.Stats.Skipped != len(list)-len(plan.Create) {
			t.Errorf("%s: %d addresses are skipped, want %d", test.name, plan.Stats.Skipped, len(list)-len(plan.Create))
		}
		if len(plan.Problems) != 1 || plan.Problems[0].Reason != TooManyAddressesToMirror || !strings.Contains(plan.Problems[0].Message, fmt.Sprint(len(plan.Create))) {
			t.Errorf("%s: problems %v, want %s with the limit %d", test.name, plan.Problems, TooManyAddressesToMirror, len(plan.Create))
		}
	}
}
