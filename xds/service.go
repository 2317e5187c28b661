package xds

import (
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/xds/resource"
)

// resourceType is a type of resources. Their order is that in which changes are sent (§6.6).
type resourceType = resource.Type

const (
	clusters      = resource.Cluster
	endpoints     = resource.Endpoints
	listeners     = resource.Listener
	routes        = resource.RouteConfiguration
	resourceTypes = routes + 1 // how many there are
)

// Variants of the protocol, as metrics call them.
const (
	variantSotW  = "sotw"
	variantDelta = "delta"
)

// apis are the gRPC services (§1.2): the aggregated one, and those that have one type only. The packages
// of their generated code would add the messages of all resources to the program.
var apis = []struct{ service, methods, only string }{
	{"envoy.service.discovery.v3.AggregatedDiscoveryService", "AggregatedResources", ""},
	{"envoy.service.cluster.v3.ClusterDiscoveryService", "Clusters", resource.ClusterURL},
	{"envoy.service.endpoint.v3.EndpointDiscoveryService", "Endpoints", resource.EndpointsURL},
	{"envoy.service.listener.v3.ListenerDiscoveryService", "Listeners", resource.ListenerURL},
	{"envoy.service.route.v3.RouteDiscoveryService", "Routes", resource.RouteConfigurationURL},
}

// description returns the description of a service for a gRPC server.
func (s *Server) description(service, only, methods string) *grpc.ServiceDesc {
	method := func(name, variant string) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(_ any, out grpc.ServerStream) error {
			return s.serve(out, variant, only)
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{method("Stream"+methods, variantSotW), method("Delta"+methods, variantDelta)},
	}
}
