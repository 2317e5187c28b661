package xds

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
	"github.com/signpostd/signpost/xds/resource"
)

// xdsStreams are many ADS streams, each for the Listener, the Cluster and the endpoints of one Service. They
// measure when each of them gets a change of the endpoints.
type xdsStreams struct {
	workload.Connections
	service string
	// full is the size of the endpoints when all are ready; 0 before the first response of a single stream.
	full int

	streams []*xdsStream

	// first counts the streams that have had all endpoints, responses and bytes what came of the endpoints.
	first, responses, bytes, ended, seen atomic.Int64
	// absent is whether the awaited change takes an endpoint away; since is when it was begun, 0 for no
	// change.
	absent atomic.Bool
	since  atomic.Int64
}

// xdsStream is one stream.
type xdsStream struct {
	all       *xdsStreams
	mu        sync.Mutex
	had       bool
	latencies []time.Duration
}

// openStreams opens streams, perConnection on each connection, and waits until each has all endpoints.
func openStreams(ctx context.Context, addr string, streams, perConnection, full int) (*xdsStreams, error) {
	return open(ctx, addr, &xdsStreams{service: workload.Service, full: full}, streams, perConnection)
}

// openStream opens one stream for another Service, whose first response has all endpoints.
func openStream(ctx context.Context, addr, service string) (*xdsStreams, error) {
	return open(ctx, addr, &xdsStreams{service: service}, 1, 1)
}

func open(ctx context.Context, addr string, x *xdsStreams, streams, perConnection int) (*xdsStreams, error) {
	for range streams {
		x.streams = append(x.streams, &xdsStream{all: x})
	}
	err := x.Start(ctx, addr, streams, perConnection, func(ctx context.Context, i int, conn *grpc.ClientConn) {
		if err := x.streams[i].read(ctx, conn); err != nil && ctx.Err() == nil {
			x.ended.Add(1)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := measure.Poll(ctx, 2*time.Minute, func() bool { return x.first.Load() >= int64(streams) }); err != nil {
		x.Close()
		return nil, fmt.Errorf("%d of %d streams got all endpoints, %d ended: %w", x.first.Load(), streams, x.ended.Load(), err)
	}
	return x, nil
}

// subscriptionsTo returns the requests that a stream for a Service begins with.
func subscriptionsTo(service string) []*discovery.DiscoveryRequest {
	return subscriptions(service, workload.Namespace)
}

func subscriptions(service, namespace string) []*discovery.DiscoveryRequest {
	host := service + "." + namespace
	return []*discovery.DiscoveryRequest{
		{Node: &corepb.Node{Id: "bench", UserAgentName: "gRPC Go"}, TypeUrl: resource.ListenerURL, ResourceNames: []string{host + ":80"}},
		{TypeUrl: resource.ClusterURL, ResourceNames: []string{host + ".svc.cluster.local:80"}},
		{TypeUrl: resource.EndpointsURL, ResourceNames: []string{host + ".svc.cluster.local:80"}},
	}
}

// read receives endpoints until the stream ends.
func (s *xdsStream) read(ctx context.Context, conn *grpc.ClientConn) error {
	return follow(ctx, conn, subscriptionsTo(s.all.service), func(r *rawResponse) {
		if r.typeURL == resource.EndpointsURL {
			s.receive(r)
		}
	})
}

// decoded is a response of a form that rawCodec decodes.
type decoded[R any] interface {
	*R
	decode([]byte) error
	raw() *rawResponse
}

// follow subscribes, calls receive with each response, and acknowledges it.
func follow[R any, P decoded[R]](ctx context.Context, conn *grpc.ClientConn, subscriptions []*discovery.DiscoveryRequest, receive func(P)) error {
	stream, err := openADS(ctx, conn)
	if err != nil {
		return err
	}
	names := map[string][]string{}
	for _, r := range subscriptions {
		names[r.GetTypeUrl()] = r.GetResourceNames()
		if err := stream.SendMsg(r); err != nil {
			return err
		}
	}
	for {
		got := P(new(R))
		if err := stream.RecvMsg(got); err != nil {
			return err
		}
		receive(got)
		r := got.raw()
		ack := &discovery.DiscoveryRequest{VersionInfo: r.version, ResponseNonce: r.nonce, TypeUrl: r.typeURL, ResourceNames: names[r.typeURL]}
		if err := stream.SendMsg(ack); err != nil {
			return err
		}
	}
}

func openADS(ctx context.Context, conn *grpc.ClientConn) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
		grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2("proto")}), grpc.WaitForReady(true))
}

// receive counts a response with endpoints.
func (s *xdsStream) receive(r *rawResponse) {
	x, now := s.all, time.Now()
	x.responses.Add(1)
	x.bytes.Add(int64(r.size))
	if !s.had && (r.value == x.full || x.full == 0) {
		x.full = r.value
		s.had = true
		x.first.Add(1)
		return
	}
	since := x.since.Load()
	if since == 0 || (r.value < x.full) != x.absent.Load() {
		return
	}
	s.mu.Lock()
	s.latencies = append(s.latencies, now.Sub(time.Unix(0, since)))
	s.mu.Unlock()
	x.seen.Add(1)
}

// update makes one change, and waits until all streams have got it.
func (x *xdsStreams) update(ctx context.Context, t *workload.Toggler) error {
	x.await(!t.Absent)
	if err := t.Next(ctx); err != nil {
		return err
	}
	return x.seenByAll(ctx)
}

// await tells the streams of the next change: whether an endpoint becomes absent.
func (x *xdsStreams) await(absent bool) {
	x.seen.Store(0)
	x.absent.Store(absent)
	x.since.Store(time.Now().UnixNano())
}

// seenByAll waits until all streams have got the change.
func (x *xdsStreams) seenByAll(ctx context.Context) error {
	if err := measure.Poll(ctx, time.Minute, func() bool { return x.seen.Load() >= int64(len(x.streams)) }); err != nil {
		return fmt.Errorf("%d of %d streams got the change: %w", x.seen.Load(), len(x.streams), err)
	}
	x.since.Store(0)
	return nil
}

// takeLatencies returns all latencies, and forgets them.
func (x *xdsStreams) takeLatencies() (all []time.Duration) {
	for _, s := range x.streams {
		s.mu.Lock()
		all = append(all, s.latencies...)
		s.latencies = nil
		s.mu.Unlock()
	}
	return all
}

// latencies returns all latencies, sorted, and the longest one of each change.
func (x *xdsStreams) latencies() (all, last []time.Duration) {
	for _, s := range x.streams {
		s.mu.Lock()
		for i, l := range s.latencies {
			if i == len(last) {
				last = append(last, 0)
			}
			last[i] = max(last[i], l)
		}
		all = append(all, s.latencies...)
		s.mu.Unlock()
	}
	slices.Sort(all)
	slices.Sort(last)
	return all, last
}

// rawResponse is what a stream needs of a response. Decoding all of it would cost the machine more than
// sending it.
type rawResponse struct {
	version, typeURL, nonce string
	// size is that of the response, value that of its last resource.
	size, value int
}

func (r *rawResponse) raw() *rawResponse { return r }

// rawCodec decodes a rawResponse, and what has one and more.
type rawCodec struct{ encoding.CodecV2 }

// Unmarshal implements encoding.CodecV2.
func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(interface{ decode([]byte) error })
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	return r.decode(b.ReadOnlyData())
}

func (r *rawResponse) decode(b []byte) error {
	r.size = len(b)
	return eachField(b, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			r.version = string(value)
		case 2:
			return eachField(value, func(number protowire.Number, value []byte) error {
				if number == 2 {
					r.value = len(value)
				}
				return nil
			})
		case 4:
			r.typeURL = string(value)
		case 5:
			r.nonce = string(value)
		}
		return nil
	})
}

// eachField calls f with each field of a message that has bytes.
func eachField(b []byte, f func(protowire.Number, []byte) error) error {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, value); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// awaitEndpoints waits until a server knows all endpoints, and returns their size in its responses.
func awaitEndpoints(ctx context.Context, addr string, endpoints int) (size int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, measure.ErrTimeout)
	defer cancel()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	for {
		size, n, err := readEndpoints(ctx, conn, endpoints)
		if n == endpoints {
			return size, nil
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("the server at %s has %d of %d endpoints: %w", addr, n, endpoints, err)
		}
		if err := measure.Pause(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// readEndpoints reads a stream until a response has all endpoints. The size and the number are
// those of the last response.
func readEndpoints(ctx context.Context, conn *grpc.ClientConn, endpoints int) (size, n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err = follow(ctx, conn, subscriptionsTo(workload.Service), func(r *wholeResponse) {
		if r.typeURL != resource.EndpointsURL {
			return
		}
		if size, n = r.value, len(r.addresses); n == endpoints {
			cancel()
		}
	})
	return size, n, err
}
