package kube

import "github.com/signpostd/signpost/catalog"

// The kinds of the catalog are the examples of kinds in these tests. Package kube/kinds, which has
// them, imports this one, so that only external tests can import it: they set what follows.
var (
	Services        func() Kind[catalog.Service]
	Pods            func() Kind[catalog.Workload]
	Nodes           func() Kind[catalog.Node]
	Servers         func() Kind[catalog.Server]
	ServiceProfiles func() Kind[catalog.ServiceProfile]
	CatalogTables   func(Sink, EndpointsFrom) []AnyTable
)

// Sink is what tables of the catalog feed.
type Sink interface {
	Put(catalog.Object)
	Delete(catalog.ID)
}

// EndpointsFrom says which objects have the endpoints.
type EndpointsFrom string

const (
	FromEndpointSlices EndpointsFrom = "EndpointSlices"
	FromEndpoints      EndpointsFrom = "Endpoints"
)
