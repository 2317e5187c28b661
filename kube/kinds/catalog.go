package kinds

import (
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// Sink receives the objects of a catalog. *catalog.Catalog is one.
type Sink interface {
	Put(catalog.Object)
	Delete(catalog.ID)
}

// EndpointsFrom selects the objects from which endpoints of Services are read.
type EndpointsFrom string

// The sources of endpoints.
const (
	FromEndpointSlices EndpointsFrom = "EndpointSlices"
	FromEndpoints      EndpointsFrom = "Endpoints"
)

// CatalogTables returns tables of all the kinds of a catalog, which feed the sink: those of [LinkedTables],
// and the kinds that are read in our own cluster only.
func CatalogTables(sink Sink, from EndpointsFrom) []kube.AnyTable {
	return append(
		LinkedTables(sink, from),
		Nodes().Table(Into[catalog.Node](sink)),
		Jobs().Table(Into[catalog.Owner](sink)),
		ServiceProfiles().Table(Into[catalog.ServiceProfile](sink)),
	)
}

// LinkedTables returns tables of the kinds that are read in a linked cluster, which feed the sink: the kinds
// that the endpoints of its Services are made of. The credentials for a linked cluster need no more rights
// than these.
func LinkedTables(sink Sink, from EndpointsFrom) []kube.AnyTable {
	endpoints := EndpointSlices()
	if from == FromEndpoints {
		endpoints = Endpoints()
	}
	return []kube.AnyTable{
		Services().Table(Into[catalog.Service](sink)),
		endpoints.Table(Into[catalog.EndpointSlice](sink)),
		Pods().Table(Into[catalog.Workload](sink)),
		ReplicaSets().Table(Into[catalog.Owner](sink)),
		ExternalWorkloads().Table(Into[catalog.Workload](sink)),
		Servers().Table(Into[catalog.Server](sink)),
	}
}

// Into makes a table put its objects into the sink, and delete them there.
func Into[T any, P interface {
	*T
	catalog.Object
}](sink Sink) kube.TableOption[T] {
	return kube.WithHandler(func(old, new *T) {
		if new == nil {
			sink.Delete(P(old).ID())
			return
		}
		sink.Put(P(new))
	})
}
