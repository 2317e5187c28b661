package slices

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// lacks reports whether a version of a slice lacks endpoints of another one: ready addresses, or the ports of
// all addresses.
func lacks(version, other *discoveryv1.EndpointSlice) bool {
	if len(other.Endpoints) == 0 {
		return false
	}
	if !equality.Semantic.DeepEqual(version.Ports, other.Ports) {
		return true
	}
	has := readyByAddress(version)
	for address, ready := range readyByAddress(other) {
		if ready && !has[address] {
			return true
		}
	}
	return false
}
