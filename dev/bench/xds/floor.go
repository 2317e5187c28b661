package xds

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/dev/bench/workload"
	"github.com/signpostd/signpost/internal/precoded"
	"github.com/signpostd/signpost/xds/resource"
)

// xdsFloor is the least that a grpc-go server can spend on endpoints over xDS: it encodes each change once,
// and sends the same bytes to every stream, with the stream's nonce behind them. It answers Listeners and
// Clusters with nothing.
type xdsFloor struct {
	mu      sync.Mutex
	slices  map[string]*discoveryv1.EndpointSlice
	version int
	newest  mem.SliceBuffer // a response without nonce
	streams map[chan struct{}]struct{}
}

// ServeFloor serves the floor of endpoints over ADS.
func ServeFloor(ctx context.Context, args []string) error {
	f := &xdsFloor{slices: map[string]*discoveryv1.EndpointSlice{}, streams: map[chan struct{}]struct{}{}}
	return workload.Floor{
		Service: grpc.ServiceDesc{
			ServiceName: "envoy.service.discovery.v3.AggregatedDiscoveryService", HandlerType: (*any)(nil),
			Streams: []grpc.StreamDesc{{
				StreamName: "StreamAggregatedResources", ServerStreams: true, ClientStreams: true,
				Handler: func(_ any, s grpc.ServerStream) error { return f.serve(s) },
			}},
		},
		Codec: precoded.NewCodec(), Apply: f.apply,
	}.Serve(ctx, args)
}

// serve sends the newest response whenever there is one.
func (f *xdsFloor) serve(s grpc.ServerStream) error {
	wake := make(chan struct{}, 1)
	asked := make(chan struct{})
	go func() {
		once := sync.OnceFunc(func() { close(asked) })
		for {
			r := new(discovery.DiscoveryRequest)
			if s.RecvMsg(r) != nil {
				return
			}
			if r.GetTypeUrl() == resource.EndpointsURL {
				once()
			}
		}
	}()
	select {
	case <-asked:
	case <-s.Context().Done():
		return nil
	}
	f.join(wake)
	defer f.leave(wake)
	for nonce := uint64(1); ; nonce++ {
		select {
		case <-wake:
		case <-s.Context().Done():
			return nil
		}
		tail := protowire.AppendString(protowire.AppendTag(nil, 5, protowire.BytesType), strconv.FormatUint(nonce, 36))
		if err := s.SendMsg(&mem.BufferSlice{f.response(), mem.SliceBuffer(tail)}); err != nil {
			return err
		}
	}
}

func (f *xdsFloor) join(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[wake] = struct{}{}
	wake <- struct{}{}
}

func (f *xdsFloor) leave(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, wake)
}

func (f *xdsFloor) response() mem.SliceBuffer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest
}

// apply makes the response that follows from a slice, and wakes all streams.
func (f *xdsFloor) apply(s *discoveryv1.EndpointSlice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slices[s.Name] = s
	f.version++
	value, err := anypb.New(f.assignment())
	if err != nil {
		panic(err)
	}
	// Signpost's versions have 13 characters.
	b, err := proto.Marshal(&discovery.DiscoveryResponse{
		VersionInfo: fmt.Sprintf("%013d", f.version), TypeUrl: resource.EndpointsURL, Resources: []*anypb.Any{value},
	})
	if err != nil {
		panic(err)
	}
	f.newest = b
	for wake := range f.streams {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// assignment returns the endpoints as Signpost sends them, so that both servers send as many bytes. The
// caller holds the lock.
func (f *xdsFloor) assignment() *endpointpb.ClusterLoadAssignment {
	a := &endpointpb.ClusterLoadAssignment{ClusterName: workload.Service + "." + workload.Namespace + ".svc.cluster.local:80"}
	for zone := range workload.Zones {
		l := &endpointpb.LocalityLbEndpoints{Locality: &corepb.Locality{Zone: workload.ZoneName(zone)}}
		for _, s := range f.slices {
			for _, e := range s.Endpoints {
				if *e.Zone == l.Locality.Zone {
					l.LbEndpoints = append(l.LbEndpoints, &endpointpb.LbEndpoint{HostIdentifier: &endpointpb.LbEndpoint_Endpoint{
						Endpoint: &endpointpb.Endpoint{Address: &corepb.Address{Address: &corepb.Address_SocketAddress{
							SocketAddress: &corepb.SocketAddress{
								Address: e.Addresses[0], PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: uint32(*s.Ports[0].Port)},
							},
						}}},
					}})
				}
			}
		}
		l.LoadBalancingWeight = wrapperspb.UInt32(uint32(len(l.LbEndpoints)))
		a.Endpoints = append(a.Endpoints, l)
	}
	return a
}
