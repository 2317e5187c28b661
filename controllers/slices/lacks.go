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
	has := map[string]bool{}
	for i := range version.Endpoints {
		note(has, &version.Endpoints[i])
	}
	needed := map[string]bool{}
	for i := range other.Endpoints {
		note(needed, &other.Endpoints[i])
	}
	for address := range needed {
		if !has[address] {
			return true
		}
	}
	return false
}

// note adds the addresses of a ready endpoint.
func note(addresses map[string]bool, e *discoveryv1.Endpoint) {
	// Without a ready condition, the endpoint counts as ready.
	if ready := e.Conditions.Ready; ready != nil && !*ready {
		return
	}
	for _, a := range e.Addresses {
		addresses[a] = true
	}
}
