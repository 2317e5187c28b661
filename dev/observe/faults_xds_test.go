package observe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// The types of resources that these clients ask for.
const (
	clustersURL  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointsURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// startXDS starts a process with the role xds and waits until it is ready.
func startXDS(t *testing.T, kubeconfig, namespace string) *target {
	t.Helper()
	p := start(t, "signpost-0", fmt.Sprintf(`
apiVersion: signpost.dev/v1alpha1
kind: Config
kubeconfig: %s
admin: {address: "ADMIN"}
xds: {addr: "XDS", linkNamespace: %s, egressBudget: 1048576}
`, kubeconfig, namespace))
	p.AwaitReady(t)
	return p
}

type adsStream = discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient

// ask opens a stream, whose window is as small as possible, and asks for a resource.
func (p *target) ask(ctx context.Context, t *testing.T, typeURL, name string) adsStream {
	t.Helper()
	conn, err := grpc.NewClient(p.xds, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(65535))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err == nil {
		err = stream.Send(&discovery.DiscoveryRequest{Node: &core.Node{Id: "test", UserAgentName: "gRPC Go"}, TypeUrl: typeURL, ResourceNames: []string{name}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// A client asks for a name that is too long, one rejects a Cluster, and one doesn't read.
func TestXDSClients(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, large(8080), namespace)
	p, name := startXDS(t, cluster.Kubeconfig, namespace), "large."+namespace+".svc.cluster.local:80"
	prom := newPrometheus(t, p)
	prom.scrapeAll(nil)
	if _, err := p.ask(t.Context(), t, endpointsURL, strings.Repeat("a", 600)).Recv(); err == nil {
		t.Error("a name of 600 bytes is answered")
	}
	awaitMetric(t, p, "xds_refused_total", time.Minute, positive)
	prom.wantFiring(time.Minute, "SignpostXdsRefused")

	rejects := p.ask(t.Context(), t, clustersURL, name)
	r, err := rejects.Recv()
	if err == nil {
		err = rejects.Send(&discovery.DiscoveryRequest{
			TypeUrl: clustersURL, ResourceNames: []string{name}, ResponseNonce: r.GetNonce(), ErrorDetail: &rpcstatus.Status{Message: "no"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, p, "xds_rejected", time.Minute, positive)
	p.ask(t.Context(), t, endpointsURL, name)
	for port := 8081; port < 8085; port++ {
		cluster.Apply(t, large(port), namespace)
	}
	awaitMetric(t, p, "xds_lag_seconds", time.Minute, func(v float64) bool { return v > 15 })
	prom.wantFiring(16*time.Minute, "SignpostXdsRejected", "SignpostXdsBehind")
}

// A large Service with many clients changes ten times a second, for longer than the egress budget
// allows. Prometheus believes that a quarter of a second is 30, so the delays are multiplied as well.
func TestXDSPaced(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, large(8080), namespace)
	p := startXDS(t, cluster.Kubeconfig, namespace)
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer func() { cancel(); working.Wait() }()
	for range 20 {
		stream := p.ask(ctx, t, endpointsURL, "large."+namespace+".svc.cluster.local:80")
		working.Go(func() {
			for _, err := stream.Recv(); err == nil; _, err = stream.Recv() {
			}
		})
	}
	slices := cluster.Client.DiscoveryV1().EndpointSlices(namespace)
	working.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Sprintf(`[{"op": "replace", "path": "/endpoints/0/addresses/0", "value": "10.9.0.%d"}]`, i%250+1)
			if _, err := slices.Patch(ctx, "large-0", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
				t.Errorf("change an endpoint: %v", err)
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	})
	prom := newPrometheus(t, p)
	prom.scrapeOften(120, int(60*time.Minute/step), []string{"xds_paced_seconds_sum"}, "SignpostXdsPaced")
	prom.wantFiring(0, "SignpostXdsPaced")
}
