package destination

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signpostd/signpost/catalog"
)

// busyStreams is the number of streams of BenchmarkOtherService for the Service that changes at the same
// time.
const busyStreams, streamsOfConnection = 10_000, 50

// BenchmarkOtherService measures the time until the only stream of a Service gets a change, just after a
// change of a Service with very many streams.
func BenchmarkOtherService(b *testing.B) {
	known := catalog.New(catalog.Options{})
	s := NewServer(known, testConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer(s.ServerOptions()...)
	s.Register(server)
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = known.Run(ctx) })
	wg.Go(func() { _ = s.Run(ctx) })
	wg.Go(func() { _ = server.Serve(s.Listener(l)) })
	b.Cleanup(func() {
		stop()
		server.Stop()
		wg.Wait()
	})
	busy, own := service("busy"), service("own")
	known.Put(busy)
	known.Put(own)
	known.MarkSynced()
	<-known.Synced()
	change := func(of string, n int) {
		var list []catalog.SliceEndpoint
		for i := range n {
			list = append(list, at(netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(i%250 + 1)}).String(), catalog.WorkloadKey{}))
		}
		e := slice(of, list...)
		e.Service.Name = of
		known.Put(e)
	}
	change("busy", 10)
	change("own", 1)
	connect := func() *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	get := func(conn *grpc.ClientConn, name string) grpc.ServerStreamingClient[pb.Update] {
		stream, err := pb.NewDestinationClient(conn).Get(b.Context(), &pb.GetDestination{Path: name + ".ns.svc.mycluster.local:80"})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			b.Fatal(err)
		}
		return stream
	}
	var conn *grpc.ClientConn
	for i := range busyStreams {
		if i%streamsOfConnection == 0 {
			conn = connect()
		}
		get(conn, "busy")
	}
	canary := get(connect(), "own")
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		change("busy", 11+n%100)
		time.Sleep(5 * time.Millisecond) // until the streams have been woken
		begun := time.Now()
		change("own", 2+n%2)
		if _, err := canary.Recv(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
		time.Sleep(500 * time.Millisecond) // until the others have got the change
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
}
