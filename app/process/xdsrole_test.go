package process

import (
	"log/slog"
	"testing"

	discoverypb "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The xds role has a gRPC server of its own, alone and beside the destination role. Until the
// cluster is known it refuses streams, and the process isn't ready.
func TestXDSRole(t *testing.T) {
	for name, destination := range map[string]bool{"alone": false, "beside destination": true} {
		t.Run(name, func(t *testing.T) {
			c := settings.Default()
			c.RunsXDS, c.RunsDestination, c.Destination.ExternalWorkloadWriter = true, destination, false
			withoutAPIServer(t, &c)
			registry := prometheus.NewRegistry()
			p, err := newProcess(t.Context(), c, slog.New(slog.DiscardHandler), registry, func(objectmeta.Problem) {}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := serveRegistered(t, p, registry, nil)
			addresses := s.grpcs
			if want := len(c.Roles()); len(addresses) != want {
				t.Fatalf("gRPC servers at %v, want %d", addresses, want)
			}
			conn, err := grpc.NewClient("passthrough:///"+addresses[len(addresses)-1].String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			stream, err := discoverypb.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(t.Context())
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != codes.Unavailable {
				t.Errorf("a stream before the cluster is known: %v", err)
			}
			if code, body := s.fetch(t, "/ready"); code == 200 {
				t.Errorf("/ready: %d, %s", code, body)
			}
			s.cancel()
			if err := <-s.done; err != nil {
				t.Errorf("serveProcess: %v", err)
			}
		})
	}
}
