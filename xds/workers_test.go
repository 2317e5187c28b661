package xds

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/grpcrecover"
)

// Case 58: more streams than there are workers don't read, and acknowledge what they haven't read,
// in case nonces could be guessed. Others get each change.
func TestStalledStreams(t *testing.T) {
	for _, acknowledges := range []bool{false, true} {
		t.Run(fmt.Sprintf("acknowledges=%t", acknowledges), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stallStreams(t, acknowledges) })
		})
	}
}

func stallStreams(t *testing.T, acknowledge bool) {
	web := service("shop", "web", "http:80")
	f := start(t, Config{EgressBudget: 1 << 40}, web)
	var stalled []*ads
	for range runtime.GOMAXPROCS(0) + 1 {
		a := f.stalled()
		defer close(a.reads)
		a.send(endpoints, httpCluster)
		stalled = append(stalled, a)
	}
	reader := f.ads()
	reader.send(endpoints, httpCluster)
	for n := range uint64(10) { // each response has 100 kB, and a stream a window of 64 kB
		if acknowledge {
			for _, a := range stalled {
				a.request(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}, ResponseNonce: fmt.Sprint(n + 1)})
			}
		}
		reader.take()
		size := 4000 + int(n)
		f.change(put(slice(web, "web", "http", 8080, many(size)...)))
		if got := addressesIn(t, reader.one(endpoints).GetResources()[0]); len(got) != size {
			t.Fatalf("%d endpoints, want %d", len(got), size)
		}
		reader.ack(endpoints, httpCluster)
	}
}

// A panic of a worker ends the call that it works for, and no other.
func TestPanicOfWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{Rejected: func(catalog.ServiceKey, string) { panic("on purpose") }}, objects...)
		var panicked any
		recoverer := grpcrecover.New(grpcrecover.Config{Registerer: f.registry, Log: slog.New(slog.DiscardHandler), Panicked: func(v any, _ []byte) { panicked = v }})
		l := bufconn.Listen(1 << 10)
		server := grpc.NewServer(append(f.server.ServerOptions(), grpc.ChainStreamInterceptor(recoverer.StreamInterceptor))...)
		f.server.Register(server)
		go func() { _ = server.Serve(l) }()
		defer server.Stop()
		conn, err := grpc.NewClient("passthrough:///recovers", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		other := f.ads()
		other.listener(t, "web.shop:80")
		r := request{}.listener(pythonAgent, "web.shop:80")
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		first, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		r.ResponseNonce, r.ErrorDetail = first.GetNonce(), &rpcstatus.Status{Code: 3, Message: "no"}
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Internal || panicked != "on purpose" {
			t.Errorf("the stream ended with %v after the panic %v", err, panicked)
		}
		time.Sleep(time.Second)
		other.send(clusters, grpcCluster)
		other.one(clusters)
	})
}

// A stream that a change of its own concerns, and one with a request, don't wait for all streams of
// another change.
func TestLanes(t *testing.T) {
	var ws workers // without slots
	own, asking := &stream{id: 1}, &stream{id: 2}
	for range maxFew + 1 {
		ws.add(&stream{}, laneOf(maxFew+1))
	}
	ws.add(own, laneOf(maxFew))
	ws.add(asking, laneRequest)
	taken := map[uint64]bool{}
	for range lanes {
		taken[ws.take().id] = true
	}
	if !taken[own.id] || !taken[asking.id] {
		t.Errorf("the first of each lane are %v", taken)
	}
	n := 0
	for ws.take() != nil {
		n++
	}
	if n != maxFew {
		t.Errorf("%d more streams, want %d", n, maxFew)
	}
}
