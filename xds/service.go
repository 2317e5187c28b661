package xds

import (
	"strings"

	"google.golang.org/grpc"

	"github.com/signpostd/signpost/xds/resource"
)

// resourceType is a type of resources. Their order is that in which changes are sent (§6.6).
type resourceType resource.Type

const (
	clusters      = resourceType(resource.Cluster)
	endpoints     = resourceType(resource.Endpoints)
	listeners     = resourceType(resource.Listener)
	routes        = resourceType(resource.RouteConfiguration)
	resourceTypes = routes + 1 // how many there are
)

// typeOf returns the type of a URL.
func typeOf(url string) (resourceType, bool) {
	for typ := range resourceTypes {
		if typ.url() == url {
			return typ, true
		}
	}
	return 0, false
}

// url returns the type URL of the resources in messages.
func (t resourceType) url() string { return resource.Type(t).URL() }

// String returns the type as metrics and logs call it.
func (t resourceType) String() string { return [resourceTypes]string{"cds", "eds", "lds", "rds"}[t] }

// kind returns the kind of the resources, as Envoy's documents call it.
func (t resourceType) kind() string { return t.url()[strings.LastIndexByte(t.url(), '.')+1:] }

// single reports whether a SotW response has one resource; otherwise it has all that are subscribed (§6.7).
func (t resourceType) single() bool { return t == endpoints || t == routes }

// Variants of the protocol, as metrics call them.
const (
	variantSotW  = "sotw"
	variantDelta = "delta"
)

// api is one of the gRPC services: the aggregated one, or that of one type (§1.2).
type api struct {
	name, sotw, delta string
	// only is the type of the service; nil for all.
	only *resourceType
}

// apis are the services. The packages of their generated code would add the messages of all resources to the
// program, of which none is used.
func apis() []api {
	one := func(t resourceType) *resourceType { return &t }
	return []api{
		{"envoy.service.discovery.v3.AggregatedDiscoveryService", "StreamAggregatedResources", "DeltaAggregatedResources", nil},
		{"envoy.service.cluster.v3.ClusterDiscoveryService", "StreamClusters", "DeltaClusters", one(clusters)},
		{"envoy.service.endpoint.v3.EndpointDiscoveryService", "StreamEndpoints", "DeltaEndpoints", one(endpoints)},
		{"envoy.service.listener.v3.ListenerDiscoveryService", "StreamListeners", "DeltaListeners", one(listeners)},
		{"envoy.service.route.v3.RouteDiscoveryService", "StreamRoutes", "DeltaRoutes", one(routes)},
	}
}

// description returns the description of a service for a gRPC server.
func (s *Server) description(a api) *grpc.ServiceDesc {
	method := func(name, variant string) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(_ any, out grpc.ServerStream) error {
			return s.serve(out, variant, a.only)
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: a.name, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{method(a.sotw, variantSotW), method(a.delta, variantDelta)},
	}
}
