package streams

import (
	"context"
	"encoding/binary"
	"net/netip"
	"sync"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/dev/bench/workload"
	"github.com/signpostd/signpost/internal/precoded"
)

// encoded is a message that is sent unchanged.
type encoded = mem.BufferSlice

// floor is the least that a grpc-go server can spend on the job: it encodes each
// change once and hands the same bytes to every stream. It knows nothing of
// pods, zones or slow readers; it is a yardstick, not a server.
type floor struct {
	mu        sync.Mutex
	addresses map[string]*pb.WeightedAddr
	inSlice   map[string]map[string]struct{}
	streams   map[chan *encoded]struct{}
	full      *encoded
}

var setLabels = map[string]string{"namespace": workload.Namespace, "service": workload.Service}

// ServeFloor serves the floor of Get and GetProfile.
func ServeFloor(ctx context.Context, args []string) error {
	f := &floor{addresses: map[string]*pb.WeightedAddr{}, inSlice: map[string]map[string]struct{}{}, streams: map[chan *encoded]struct{}{}}
	return workload.Floor{
		Service: grpc.ServiceDesc{
			ServiceName: "io.linkerd.proxy.destination.Destination", HandlerType: (*any)(nil),
			Streams: []grpc.StreamDesc{
				{StreamName: "Get", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error { return f.get(s) }},
				{StreamName: "GetProfile", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error { return sendProfile(s) }},
			},
		},
		Codec: precoded.NewCodec(), Apply: f.apply,
	}.Serve(ctx, args)
}

// profile is as long as what Signpost says of a pod.
var profile = encode(&pb.DestinationProfile{
	RetryBudget: &pb.RetryBudget{RetryRatio: .2, MinRetriesPerSecond: 10},
	Endpoint:    weighted(workload.PodIP(0).String(), workload.PodName(0)),
})

// sendProfile is the least that GetProfile can be: one message, then nothing.
func sendProfile(s grpc.ServerStream) error {
	if err := s.RecvMsg(new(pb.GetDestination)); err != nil {
		return err
	}
	if err := s.SendMsg(profile); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func encode(u proto.Message) *encoded {
	b, err := proto.Marshal(u)
	if err != nil {
		panic(err)
	}
	return &encoded{mem.SliceBuffer(b)}
}

func (f *floor) get(s grpc.ServerStream) error {
	if err := s.RecvMsg(new(pb.GetDestination)); err != nil {
		return err
	}
	ch := make(chan *encoded, 16)
	first := f.join(ch)
	defer f.leave(ch)
	if err := s.SendMsg(first); err != nil {
		return err
	}
	for {
		select {
		case m := <-ch:
			if err := s.SendMsg(m); err != nil {
				return err
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func (f *floor) join(ch chan *encoded) *encoded {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[ch] = struct{}{}
	if f.full == nil {
		set := &pb.WeightedAddrSet{MetricLabels: setLabels}
		for _, a := range f.addresses {
			set.Addrs = append(set.Addrs, a)
		}
		f.full = encode(&pb.Update{Update: &pb.Update_Add{Add: set}})
	}
	return f.full
}

func (f *floor) leave(ch chan *encoded) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, ch)
}

func (f *floor) apply(s *discoveryv1.EndpointSlice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := map[string]struct{}{}
	var add []*pb.WeightedAddr
	for _, e := range s.Endpoints {
		ip := e.Addresses[0]
		next[ip] = struct{}{}
		if _, ok := f.inSlice[s.Name][ip]; !ok {
			f.addresses[ip] = weighted(ip, e.TargetRef.Name)
			add = append(add, f.addresses[ip])
		}
	}
	var remove []*netpb.TcpAddress
	for ip := range f.inSlice[s.Name] {
		if _, ok := next[ip]; !ok {
			remove = append(remove, f.addresses[ip].Addr)
			delete(f.addresses, ip)
		}
	}
	f.inSlice[s.Name] = next
	f.full = nil
	switch {
	case len(add) > 0:
		f.publish(encode(&pb.Update{Update: &pb.Update_Add{Add: &pb.WeightedAddrSet{Addrs: add, MetricLabels: setLabels}}}))
	case len(remove) > 0:
		f.publish(encode(&pb.Update{Update: &pb.Update_Remove{Remove: &pb.AddrSet{Addrs: remove}}}))
	}
}

func (f *floor) publish(m *encoded) {
	for ch := range f.streams {
		select {
		case ch <- m:
		default:
		}
	}
}

// weighted is what Signpost says of a pod of the benchmark, so that both servers
// send the same bytes.
func weighted(ip, pod string) *pb.WeightedAddr {
	a := netip.MustParseAddr(ip).As4()
	id := &pb.TlsIdentity_DnsLikeIdentity{Name: "default.bench.serviceaccount.identity.linkerd.cluster.local"}
	return &pb.WeightedAddr{
		Addr:   &netpb.TcpAddress{Ip: &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv4{Ipv4: binary.BigEndian.Uint32(a[:])}}, Port: 8080},
		Weight: 10000,
		MetricLabels: map[string]string{
			"control_plane_ns": "linkerd", "pod": pod, "pod_template_hash": "57b57f8947",
			"serviceaccount": "default", "zone": "zone-0", "zone_locality": "local",
		},
		TlsIdentity:  &pb.TlsIdentity{Strategy: &pb.TlsIdentity_DnsLikeIdentity_{DnsLikeIdentity: id}, ServerName: id},
		ProtocolHint: &pb.ProtocolHint{Protocol: &pb.ProtocolHint_H2_{H2: &pb.ProtocolHint_H2{}}},
	}
}
