package controllers

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/kube"
)

// Right is a right that a controller needs besides list and watch on what its tables hold. Roles and
// `signpost check` are derived from it.
type Right struct {
	// Group, Resource and Verbs are as in a rule of a role. A subresource follows a slash.
	Group, Resource string
	Verbs           []string
	// Why says what the right is for, and Without what happens without it. Both are clauses without a full
	// stop. An empty Without means that the controller can't work.
	Why, Without string
}

// refusedOwners is what happens without the right to set blockOwnerDeletion.
const refusedOwners = "a cluster that checks this (OpenShift does) refuses the EndpointSlices"

// keepServices is the right to set blockOwnerDeletion in the slices of a Service.
var keepServices = Right{Resource: "services/finalizers", Verbs: []string{"update"}, Why: "to keep a Service from going before its slices", Without: refusedOwners}

// Rights returns the rights that a controller needs, the ones for Events last.
func Rights(name Name) []Right {
	var rights []Right
	switch name {
	case Endpoints:
		rights = []Right{
			{Resource: "services", Verbs: []string{"get"}, Why: "to make sure that a Service is gone before its Endpoints are deleted, and still has its selector before Endpoints are overwritten that somebody else wrote"},
			{Resource: "endpoints", Verbs: []string{"get", "create", "update", "delete"}},
			{Resource: "endpoints/restricted", Verbs: []string{"create"}, Why: "for addresses of a pod network, in distributions that ask for it", Without: "a cluster that checks this (OpenShift does) refuses addresses of its pod network"},
		}
	case EndpointSlices:
		rights = append(
			writeSlices(), keepServices,
			Right{Resource: "services", Verbs: []string{"get"}, Why: "to make sure that a Service has lost its selector before the slices of that selector are deleted", Without: "slices of a former selector stay beside those of hand-written Endpoints"},
		)
	case ExternalWorkloads:
		rights = append(writeSlices(), keepServices)
	case Mirroring:
		rights = append(writeSlices(), Right{Resource: "endpoints/finalizers", Verbs: []string{"update"}, Why: "to keep Endpoints from going before their slices", Without: refusedOwners})
	}
	return append(rights, Right{Resource: "events", Verbs: []string{"create", "patch"}, Without: "no Events are sent"})
}

func writeSlices() []Right {
	return []Right{{Group: discoveryv1.GroupName, Resource: "endpointslices", Verbs: []string{"get", "create", "update", "delete"}}}
}

// Reads returns the tables that controllers need, to describe what they read. The tables are never filled.
func Reads(names ...Name) []kube.AnyTable {
	s := &Set{}
	s.makeTables(Config{Controllers: slices.Clone(names)})
	return s.tables
}
