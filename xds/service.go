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

// api is one of the gRPC services: the aggregated one, or that of one type (§1.2).
type api struct {
	name, sotw, delta string
	only              string // the URL of its type; empty for all
}

// apis are the services. The packages of their generated code would add the messages of all resources to the
// program, of which none is used.
func apis() []api {
	return []api{
		{"envoy.service.discovery.v3.AggregatedDiscoveryService", "StreamAggregatedResources", "DeltaAggregatedResources", ""},
		{"envoy.service.cluster.v3.ClusterDiscoveryService", "StreamClusters", "DeltaClusters", resource.ClusterURL},
		{"envoy.service.endpoint.v3.EndpointDiscoveryService", "StreamEndpoints", "DeltaEndpoints", resource.EndpointsURL},
		{"envoy.service.listener.v3.ListenerDiscoveryService", "StreamListeners", "DeltaListeners", resource.ListenerURL},
		{"envoy.service.route.v3.RouteDiscoveryService", "StreamRoutes", "DeltaRoutes", resource.RouteConfigurationURL},
	}
}

// description returns the description of a service for a gRPC server.
func (s *Server) description(a api) *grpc.ServiceDesc {
	method := func(name, variant string) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(_ any, out grpc.ServerStream) error {
			return s.serve(out, variant, &a)
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: a.name, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{method(a.sotw, variantSotW), method(a.delta, variantDelta)},
	}
}
