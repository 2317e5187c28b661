package workload

//lint:file-ignore SA1019 Endpoints are deprecated, and mirrored all the same.

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Numbers of the Services without selector.
const (
	owns    = 4 // own-N, with the slice own-N-person
	mirrors = 2 // mirror-N, with Endpoints that are mirrored
)

func ownName(i int) string    { return fmt.Sprint("own-", i) }
func mirrorName(i int) string { return fmt.Sprint("mirror-", i) }

func (s *simulation) beginUnmanaged() {
	for i := range owns {
		s.create(s.newService(ownName(i), nil))
		slice := s.newSlice(ownName(i))
		slice.Endpoints = s.someEndpoints()
		s.create(slice)
	}
	for i := range mirrors {
		s.create(s.newService(mirrorName(i), nil))
		endpoints := s.newEndpoints(mirrorName(i))
		endpoints.Subsets = s.someSubsets()
		s.create(endpoints)
	}
}

func (s *simulation) unmanagedActions() []weighted {
	return []weighted{{5, s.changeSlice}, {5, s.changeEndpoints}}
}

func (s *simulation) changeSlice() {
	if slice := find[*discoveryv1.EndpointSlice](s, "EndpointSlice "+ownName(s.rng.IntN(owns))+"-person"); slice != nil {
		slice.Endpoints = s.someEndpoints()
		s.set(slice, "/endpoints")
	}
}

// someEndpoints returns endpoints that aren't pods, some of them not ready.
func (s *simulation) someEndpoints() []discoveryv1.Endpoint {
	all := []discoveryv1.Endpoint{}
	for range s.rng.IntN(5) {
		ready, node := s.chance(80), nodeName(s.rng.IntN(Nodes))
		all = append(all, discoveryv1.Endpoint{
			Addresses: []string{s.newAddress()}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	return all
}

func (s *simulation) changeEndpoints() {
	if endpoints := find[*corev1.Endpoints](s, "Endpoints "+mirrorName(s.rng.IntN(mirrors))); endpoints != nil {
		endpoints.Subsets = s.someSubsets()
		s.set(endpoints, "/subsets")
	}
}

func (s *simulation) someSubsets() []corev1.EndpointSubset {
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "http", Port: pick(s, int32(8080), 8081), Protocol: corev1.ProtocolTCP}}}
	for range s.rng.IntN(4) {
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: s.newAddress()})
	}
	for range s.rng.IntN(2) {
		subset.NotReadyAddresses = append(subset.NotReadyAddresses, corev1.EndpointAddress{IP: s.newAddress()})
	}
	if len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
		return []corev1.EndpointSubset{}
	}
	return []corev1.EndpointSubset{subset}
}
