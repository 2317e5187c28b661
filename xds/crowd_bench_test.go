package xds

import (
	"slices"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// crowd is how many streams BenchmarkOtherService opens to the Service that changes at the same
// time.
const crowd, streamsOfConnection = 10_000, 50

// BenchmarkOtherService measures how long a change of a Service takes to its only stream, right
// after a change of a Service with very many streams.
func BenchmarkOtherService(b *testing.B) {
	w := startGRPCFixture(b)
	busy := service("shop", "web", "http:80")
	w.catalog.Put(busy)
	w.catalog.Put(slice(busy, "web", "http", 8080, many(10)...))
	var conn *grpc.ClientConn
	for i := range crowd {
		if i%streamsOfConnection == 0 {
			conn = w.connect()
		}
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(b.Context())
		if err == nil {
			err = stream.Send(&discovery.DiscoveryRequest{Node: node(pythonAgent, nil), TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}})
		}
		if err == nil && i%streamsOfConnection == 0 {
			_, err = stream.Recv()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	canary := w.canary(service("shop", "canary", "http:80"))
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		w.catalog.Put(slice(busy, "web", "http", 8080, many(11+n%100)...))
		time.Sleep(5 * time.Millisecond) // until the streams wait for workers
		took = append(took, canary.sing(1)...)
		time.Sleep(500 * time.Millisecond) // until they have got the change
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
}
