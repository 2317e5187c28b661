package slices

import (
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Identity identifies an endpoint among those with the same ports and address type. If anything else differs,
// it is an edit of the same endpoint (spec/endpoints.md §13.7).
type Identity struct {
	addresses, hostname, namespace, name string
}

// IdentityOf returns the identity of an endpoint.
func IdentityOf(e *discoveryv1.Endpoint) Identity {
	var id Identity
	if e.Hostname != nil {
		id.hostname = *e.Hostname
	}
	if len(e.Addresses) == 1 {
		id.addresses = e.Addresses[0]
	} else {
		id.addresses = strings.Join(slices.Sorted(slices.Values(e.Addresses)), ",")
	}
	if e.TargetRef != nil {
		id.namespace, id.name = e.TargetRef.Namespace, e.TargetRef.Name
	}
	return id
}
