package controllers_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

var machineLoops = flag.Int("externalworkload.loops", 30, "lives of ExternalWorkloads in TestExternalWorkloadLoops")

const (
	machineLanes   = 8
	machinesOfLane = 3
)

// TestExternalWorkloadLoops creates ExternalWorkloads, changes every field, makes them unready and ready and
// deletes them, concurrently and partly faster than the controllers can follow. Controllers and a Destination
// API share their watches, as in a process with both roles. When a lane is idle, its streams and slices must
// equal the written state. In between, they must only show versions that were written.
func TestExternalWorkloadLoops(t *testing.T) {
	t.Parallel()
	opaque, problems := catalog.ParsePortList(defaultOpaque)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	known := catalog.New(catalog.Options{DefaultOpaquePorts: opaque})
	w := environment{
		cluster: kubetest.StartOwn(t, kubetest.Options{CRDs: "../deploy/crds"}).Cluster,
		beside:  kinds.CatalogTables(known, kinds.FromEndpointSlices),
	}
	if err := w.assemble(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	w.begin()
	s := w.fixture(t)
	lanes := map[string]*machineLane{}
	for i := range machineLanes {
		l := s.newMachineLane(i)
		lanes[l.service.Name] = l
	}
	watchCtx, stopWatch := context.WithCancel(t.Context())
	defer stopWatch()
	watched, err := s.client.DiscoveryV1().EndpointSlices(s.ns).Watch(watchCtx, metav1.ListOptions{LabelSelector: discoveryv1.LabelManagedBy + "=" + ofWorkloads})
	s.must(err)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := watchSlices(watched, lanes); watchCtx.Err() == nil {
			t.Errorf("the watch of slices has ended: %v", err)
		}
	})
	began := time.Now()
	s.runLanes(lanes, s.serveDestination(known), int64(*machineLoops))
	took := time.Since(began)
	var total machineLane
	for _, l := range lanes {
		total.loops += l.loops
		total.writes += l.writes
		total.rests += l.rests
		total.shown += l.shown
		total.sliceWrites += l.sliceWrites
		if len(l.slices) > 0 && !t.Failed() {
			t.Errorf("%d slices of %s are left", len(l.slices), l.service.Name)
		}
	}
	t.Logf("%d loops in %v: %d writes of workloads, %d of slices, %d rests with %d addresses in streams",
		total.loops, took.Round(time.Second), total.writes, total.sliceWrites, total.rests, total.shown)
	if total.loops != *machineLoops && !t.Failed() {
		t.Errorf("%d loops, want %d", total.loops, *machineLoops)
	}
	if !t.Failed() {
		// A write without a change causes no event. A write may be counted after its event.
		s.eventually(func() error {
			if n := s.writesOfMachines(); n != total.sliceWrites {
				return fmt.Errorf("%d writes of slices, of which %d changed something", n, total.sliceWrites)
			}
			return nil
		})
	}
	stopWatch()
	watching.Wait()
	w.stop()
	if text := w.log.containing("level=ERROR"); text != "" {
		t.Errorf("logged:\n%s", text)
	}
}

// serveDestination serves the Destination API from a catalog until the test ends, and returns a connection to
// it.
func (s *fixture) serveDestination(known *catalog.Catalog) *grpc.ClientConn {
	s.Helper()
	server := destination.NewServer(known, destination.Config{
		TrustDomain: "cluster.local", ClusterDomain: "cluster.local", EnableH2Upgrade: true, EnableIPv6: true, ZoneWeights: true,
	}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(s.log, nil)))
	served := grpc.NewServer(server.ServerOptions()...)
	server.Register(served)
	listener := bufconn.Listen(1 << 16)
	conn, err := grpc.NewClient("passthrough:///signpost", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	s.must(err)
	endCatalog := inBackground(func(ctx context.Context) { _ = known.Run(ctx) })
	endServer := inBackground(func(ctx context.Context) { _ = server.Run(ctx) })
	endGRPC := inBackground(func(context.Context) { _ = served.Serve(listener) })
	s.Cleanup(func() {
		_ = conn.Close()
		served.Stop()
		endGRPC()
		endServer()
		endCatalog()
	})
	known.MarkSynced() // its tables are filled since the environment was assembled
	return conn
}

// newMachineLane creates the Service of a lane.
func (s *fixture) newMachineLane(i int) *machineLane {
	s.Helper()
	kinds := machineServices()
	l := &machineLane{
		service: kinds[i%len(kinds)], random: rand.New(rand.NewPCG(uint64(i), 4)),
		changed: make(chan struct{}), slices: map[string]*discoveryv1.EndpointSlice{},
	}
	wanted := l.service.Service.DeepCopy()
	wanted.Name = "web-" + strconv.Itoa(i)
	wanted.Labels = map[string]string{"team": "machines"}
	wanted.Spec.Selector = map[string]string{"app": wanted.Name}
	l.service.Service = *must[*corev1.Service](s)(s.client.CoreV1().Services(s.ns).Create(s.Context(), wanted, metav1.CreateOptions{}))
	l.client = s.external()
	for j := range machinesOfLane {
		name := fmt.Sprintf("%s-vm-%d", wanted.Name, j)
		if j == 2 {
			name = wanted.Name + ".vm" // no hostname
		}
		l.machines = append(l.machines, &laneMachine{name: name})
	}
	for j := range l.service.queries {
		if q := &l.service.queries[j]; q.hostname != "" {
			q.hostname = wanted.Name + "-" + q.hostname
		}
	}
	return l
}

// runLanes runs all lanes concurrently, with streams on one connection.
func (s *fixture) runLanes(lanes map[string]*machineLane, conn *grpc.ClientConn, loops int64) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var begun atomic.Int64
	more := func() bool { return begun.Add(1) <= loops }
	var running sync.WaitGroup
	for name, l := range lanes {
		for _, q := range l.service.queries {
			l.streams = append(l.streams, l.open(ctx, pb.NewDestinationClient(conn), q))
		}
		running.Go(func() {
			if err := l.run(ctx, more); err != nil {
				cancel()
				if !errors.Is(err, context.Canceled) {
					s.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	running.Wait()
	for _, l := range lanes {
		for _, stream := range l.streams {
			stream.cancel()
			<-stream.done
		}
	}
}

// writesOfMachines returns the number of writes of slices for workloads. It fails the test if one failed.
func (s *fixture) writesOfMachines() int {
	s.Helper()
	succeeded := 0
	for series, value := range metrictest.Series(s, s.registry) {
		switch n := int(value); {
		case !strings.HasPrefix(series, "controller_writes_total{"), !strings.Contains(series, "endpoints_controller_workqueue"):
		case strings.Contains(series, "success"):
			succeeded += n
		case n > 0:
			s.Errorf("%d writes: %s", n, series)
		}
	}
	return succeeded
}
