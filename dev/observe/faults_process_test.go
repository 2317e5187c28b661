package observe

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	destination "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// largeSlices is the number of EndpointSlices of a large Service. large-0 has few endpoints, so
// that its changes cost the API server little.
const largeSlices = 3

// large is a Service with so many endpoints that the answer exceeds the window of a stream. Its
// argument is a port.
func large(port int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Service\nmetadata: {name: large}\nspec: {ports: [{port: 80}]}\n")
	for i := range largeSlices {
		fmt.Fprintf(&b, "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: large-%d, labels: {kubernetes.io/service-name: large}}\naddressType: IPv4\nports: [{port: %d}]\nendpoints:\n", i, port)
		for j := range min(1+1000*i, 1000) {
			fmt.Fprintf(&b, "- addresses: [10.%d.%d.%d]\n", 20+i, j/250, j%250+1)
		}
	}
	return b.String()
}

// A client asks and then doesn't read.
func TestStreamsBehind(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, large(8080), namespace)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "destination"))
	p.AwaitReady(t)
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(65535))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := destination.NewDestinationClient(conn).Get(ctx, &destination.GetDestination{Path: "large." + namespace + ".svc.cluster.local:80"}); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, p, "destination_open_streams", time.Minute, positive)
	for port := 8081; port < 8084; port++ {
		cluster.Apply(t, large(port), namespace)
	}
	<-time.After(16 * time.Second) // it is sampled each second how far the stream is behind
	prom := newPrometheus(t, p)
	prom.scrapeOften(60, 100, nil, "SignpostStreamsBehind")
	prom.wantFiring(0, "SignpostStreamsBehind")
}

// The process gets no CPU while EndpointSlices change, again and again.
func TestCatalogLag(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, large(9000), namespace)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "destination"))
	p.AwaitReady(t)
	prom := newPrometheus(t, p)
	prom.scrapeAll(nil)
	for round := range 2 {
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for i := range largeSlices { // not applied: the lag is that of updates
			slices := cluster.Client.DiscoveryV1().EndpointSlices(namespace)
			slice, err := slices.Get(t.Context(), fmt.Sprintf("large-%d", i), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			slice.Labels["round"] = strconv.Itoa(round)
			if _, err := slices.Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(12 * time.Second)
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		want := float64(largeSlices * (round + 1))
		awaitMetric(t, p, "endpointslices_informer_lag_seconds_count", time.Minute, func(v float64) bool { return v >= want })
		prom.wantFiring(8 * time.Minute)
	}
	prom.wantFiring(0, "SignpostCatalogLag")
}

// The process that leads is on a node whose clock is an hour slow.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	namespace := cluster.Namespace(t)
	leadWithSlowClock(t, cluster.Client.CoordinationV1().Leases(namespace), "signpost-dns", time.Hour)
	p := start(t, "signpost-0", withRoles(t, config(cluster.Kubeconfig, namespace, server.Addr), "dns"))
	p.AwaitReady(t)
	awaitMetric(t, p, "leader_election_clock_ahead_seconds", time.Minute, func(v float64) bool { return v > 3500 })
	newPrometheus(t, p).wantFiring(12*time.Minute, "SignpostClocksDiffer")
}

// leadWithSlowClock holds a Lease until the test ends, and renews it each second.
func leadWithSlowClock(t *testing.T, leases coordinationclient.LeaseInterface, name string, slow time.Duration) {
	t.Helper()
	now := func() *metav1.MicroTime { return new(metav1.NewMicroTime(time.Now().Add(-slow))) }
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("slow"), LeaseDurationSeconds: new(int32(60)), AcquireTime: now(), RenewTime: now()},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			lease.Spec.RenewTime = now()
			renewed, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
			if err == nil {
				lease = renewed
			} else if ctx.Err() == nil {
				t.Errorf("renew the Lease: %v", err)
			}
		}
	})
	t.Cleanup(renewing.Wait)
	t.Cleanup(stop)
}

// The limit of the memory is less than what the process needs.
func TestMemoryNearLimit(t *testing.T) {
	t.Parallel()
	cluster, server := kubetest.Start(t), startBIND(t)
	p := start(t, "signpost-0", config(cluster.Kubeconfig, cluster.Namespace(t), server.Addr), "GOMEMLIMIT=16MiB")
	p.AwaitReady(t)
	newPrometheus(t, p).wantFiring(16*time.Minute, "SignpostMemoryNearLimit")
}

// withoutFault are the alerts that no test makes fire for a process that runs, with the reason.
var withoutFault = map[string]string{
	"SignpostPanics": "a call ends in a panic only by a mistake in Signpost, and none is known; internal/grpcrecover has the test that such a call is counted",
}

// Each alert fires in a test for a fault of a process that runs, or there is a reason why not.
func TestEachAlertHasAFault(t *testing.T) {
	var tests strings.Builder
	for _, name := range []string{"faults_test.go", "faults_provider_test.go", "faults_process_test.go", "faults_xds_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for _, a := range allAlerts(t) {
		fires := regexp.MustCompile(`(wantFiring\(|fired\[).*"` + a.Alert + `"`).MatchString(tests.String())
		if reason := withoutFault[a.Alert]; fires == (reason != "") {
			t.Errorf("%s fires in a test of a fault: %v; the reason why it doesn't: %q", a.Alert, fires, reason)
		}
	}
}
