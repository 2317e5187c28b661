package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	workloads "github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/internal/kubetest"
	"github.com/signpostd/signpost/internal/object"
)

var machineLoops = flag.Int("externalworkload.loops", 30, "lives of ExternalWorkloads in TestExternalWorkloadLoops")

const (
	machineLanes   = 8
	machinesOfLane = 3
)

const machineNodes = `
{apiVersion: v1, kind: Node, metadata: {name: node-east, labels: {topology.kubernetes.io/zone: east}}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-west, labels: {topology.kubernetes.io/zone: west}}}
`

// TestExternalWorkloadLoops creates ExternalWorkloads, changes them in every field, makes
// them unready and ready again and deletes them, many at a time and some faster than
// anything can follow, with both roles in one process. Streams and slices are compared with
// what was written whenever there is a rest; in between nothing may be seen that no
// version of a workload explains.
func TestExternalWorkloadLoops(t *testing.T) {
	api := roleServer{kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"}).Cluster}
	ns := api.Namespace(t)
	api.Apply(t, machineNodes, "")
	lanes := map[string]*machineLane{}
	for i := range machineLanes {
		l := api.newMachineLane(t, ns, i)
		lanes[l.service.Name] = l
	}
	registry, log := prometheus.NewRegistry(), &lockedText{}
	p, err := newProcess(t.Context(), api.machineConfig(ns), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError})), registry, func(object.Problem) {})
	if err != nil {
		t.Fatal(err)
	}
	s := serveRegistered(t, p, registry, nil)
	s.awaitReady(t, "leader: this process, ")
	watchCtx, stopWatch := context.WithCancel(t.Context())
	defer stopWatch()
	watched, err := api.Client.DiscoveryV1().EndpointSlices(ns).Watch(watchCtx, metav1.ListOptions{LabelSelector: discoveryv1.LabelManagedBy + "=" + ofMachines})
	if err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := watchSlices(watched, lanes); watchCtx.Err() == nil {
			t.Errorf("the watch of slices has ended: %v", err)
		}
	})
	began := time.Now()
	s.runLanes(t, lanes, int64(*machineLoops))
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
		// A write that changes nothing is no event. One is counted after it can be seen.
		kubetest.Eventually(t, deliveryTimeout, func() error {
			if n := writesOfMachines(t, registry); n != total.sliceWrites {
				return fmt.Errorf("%d writes of slices, of which %d changed something", n, total.sliceWrites)
			}
			return nil
		})
	}
	stopWatch()
	watching.Wait()
	s.stop(t)
	api.wantReleased(t, ns, "signpost-controllers")
	if text := log.String(); text != "" {
		t.Errorf("logged:\n%s", text)
	}
}

// machineConfig is that of a process with both roles.
func (api roleServer) machineConfig(namespace string) config {
	c := api.destinationConfig(namespace)
	c.RunsControllers, c.Controllers = true, defaultControllersOptions()
	c.Controllers.Leader.ResourceNamespace = namespace
	c.Destination.ExtEndpointZoneWeights = true
	c.Destination.DefaultOpaquePorts = defaultOpaque
	return c
}

// newMachineLane creates a Service.
func (api roleServer) newMachineLane(t *testing.T, namespace string, i int) *machineLane {
	t.Helper()
	kinds := machineServices()
	l := &machineLane{
		service: kinds[i%len(kinds)], random: rand.New(rand.NewPCG(uint64(i), 4)),
		changed: make(chan struct{}), slices: map[string]*discoveryv1.EndpointSlice{},
	}
	wanted := l.service.Service.DeepCopy()
	wanted.Name = "web-" + strconv.Itoa(i)
	wanted.Labels = map[string]string{"team": "machines"}
	wanted.Spec.Selector = map[string]string{"app": wanted.Name}
	made, err := api.Client.CoreV1().Services(namespace).Create(t.Context(), wanted, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.service.Service = *made
	config := *api.Config
	client, err := dynamic.NewForConfig(&config)
	if err != nil {
		t.Fatal(err)
	}
	l.client = client.Resource(workloads.SchemeGroupVersion.WithResource("externalworkloads")).Namespace(namespace)
	for j := range machinesOfLane {
		name := fmt.Sprintf("%s-vm-%d", made.Name, j)
		if j == 2 {
			name = made.Name + ".vm" // no hostname
		}
		l.machines = append(l.machines, &laneMachine{name: name})
	}
	for j := range l.service.questions {
		if q := &l.service.questions[j]; q.hostname != "" {
			q.hostname = made.Name + "-" + q.hostname
		}
	}
	return l
}

// runLanes has all lanes lead lives, with streams on one connection.
func (s served) runLanes(t *testing.T, lanes map[string]*machineLane, loops int64) {
	t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var begun atomic.Int64
	more := func() bool { return begun.Add(1) <= loops }
	var running sync.WaitGroup
	for name, l := range lanes {
		for _, q := range l.service.questions {
			l.streams = append(l.streams, l.open(ctx, pb.NewDestinationClient(conn), q))
		}
		running.Go(func() {
			if err := l.run(ctx, more); err != nil {
				cancel()
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
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

// writesOfMachines returns how many writes of slices for workloads succeeded. None fails.
func writesOfMachines(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	succeeded := 0
	for _, f := range families {
		if f.GetName() != "controller_writes_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := fmt.Sprint(m.GetLabel())
			switch n := int(m.GetCounter().GetValue()); {
			case !strings.Contains(labels, "endpoints_controller_workqueue"):
			case strings.Contains(labels, "success"):
				succeeded += n
			case n > 0:
				t.Errorf("%d writes: %s", n, labels)
			}
		}
	}
	return succeeded
}
