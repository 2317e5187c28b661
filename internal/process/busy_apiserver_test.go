package process

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/internal/kubetest"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/settings"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
)

const (
	// busyServices is how many Services are synced when the Lease is lost.
	busyServices = 12
	// endsWithin is how long the work may take to end then. It ends within milliseconds; the rest
	// is for machines that are busy.
	endsWithin = 2 * time.Second
)

// ways are what can be wrong with the way to the API server when the Lease is lost.
var ways = map[string]func(t *testing.T, p *network.APIPath){
	"reset": func(t *testing.T, p *network.APIPath) { fail(t, p, network.Failure{Share: 0.7, Reset: true}) },
	"reset after it was applied": func(t *testing.T, p *network.APIPath) {
		fail(t, p, network.Failure{Share: 0.7, Reset: true, Applied: true})
	},
	"half-open": func(_ *testing.T, p *network.APIPath) { p.Front.HalfOpen(network.Both) },
	"no answer": func(_ *testing.T, p *network.APIPath) { p.Front.HalfOpen(network.ToClient) },
	"slow":      func(_ *testing.T, p *network.APIPath) { p.Front.Slow(2000) },
	"too many requests": func(t *testing.T, p *network.APIPath) {
		fail(t, p, network.Failure{Share: 0.7, Status: 429, RetryAfter: 30 * time.Second})
	},
	"unavailable": func(t *testing.T, p *network.APIPath) {
		fail(t, p, network.Failure{Share: 0.7, Status: 503, RetryAfter: 30 * time.Second})
	},
}

func fail(t *testing.T, p *network.APIPath, f network.Failure) {
	t.Helper()
	if _, err := p.API.Fail(f); err != nil {
		t.Fatal(err)
	}
}

// The controllers went on for seconds after the Lease was lost, when requests failed: client-go tries
// reads again, a second later each time. So the process ended, with all streams that it served.
func (api roleServer) testWorkEnds(t *testing.T) {
	for name, begin := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api.testWorkEndsAfter(t, func(p *network.APIPath) { begin(t, p) })
		})
	}
}

func (api roleServer) testWorkEndsAfter(t *testing.T, begin func(*network.APIPath)) {
	ns := api.Namespace(t)
	api.Apply(t, manyServices(), ns)
	recorder, err := history.NewRecorder(history.Setup{}, t.TempDir()+"/history")
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	path, err := network.NewAPIPath(recorder, "replica", api.Kubeconfig, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer path.Close()

	w, settled := api.startWriter(t, ns, path.Kubeconfig)
	ctx, stop := context.WithCancel(t.Context())
	leads, ended, done := make(chan context.Context, 1), make(chan time.Time, 1), make(chan error, 1)
	go func() {
		<-settled
		done <- w.leadership.run(ctx, func(ctx context.Context) error {
			leads <- ctx
			err := w.set.Lead(ctx)
			ended <- time.Now()
			return err
		})
	}()
	term := take(t, leads)
	kubetest.Eventually(t, deliveryTimeout, func() error {
		for i := range busyServices {
			got, err := api.addresses(ns, fmt.Sprint("many-", i), endpointsOfPods)
			if err == nil && len(got) == 0 {
				err = fmt.Errorf("many-%d has no addresses", i)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	fail(t, path, network.Failure{Share: 1, Resource: "leases", Reset: true})
	begin(path)
	go api.meddle(term, ns)
	<-term.Done()
	lost := time.Now()
	if cause := context.Cause(term); !errors.Is(cause, leader.ErrNotLeading) {
		t.Errorf("the term ended with %v", cause)
	}
	select {
	case at := <-ended:
		t.Logf("the work ended after %v", at.Sub(lost))
	case <-time.After(endsWithin):
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Errorf("the work goes on %v after the lease was lost:\n%s", endsWithin, stacks.String())
	}
	path.Heal()
	stop()
	if err := take(t, done); err != nil {
		t.Errorf("the election ended with %v", err)
	}
}

// startWriter starts what the controllers need besides a Lease. They write by way of a kubeconfig.
func (api roleServer) startWriter(t *testing.T, namespace, kubeconfig string) (w *writer, settled <-chan struct{}) {
	t.Helper()
	cfg, err := kube.LoadConfig(kubeconfig, version.UserAgent("test"))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	in := roleInput{REST: cfg, Log: slog.New(slog.DiscardHandler), Registerer: registry, Metrics: reconcile.NewMetrics(registry, nil)}
	loop := controllers.Loop{Workers: 5}
	o := quickLeader(settings.Default().Controllers.Leader, namespace)
	o.LeaseDuration, o.RenewDeadline = 15*time.Second, 3*time.Second
	w, err = newWriter(in, writerConfig{leader: o, set: controllers.Config{
		Controllers: controllers.Names(), MaxEndpointsPerSlice: 100, MirroringMaxEndpointsPerSubset: 1000,
		Endpoints: loop, EndpointSlices: loop, Mirroring: loop, ExternalWorkloads: loop, RepairFirst: time.Millisecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.closeIdle)
	cluster, err := kube.New(kube.Options{Config: api.Config, Namespaces: []string{namespace}}, w.set.Tables()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- cluster.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return w, cluster.Settled()
}

// manyServices are Services with a pod each, and some with Endpoints by hand or a machine.
func manyServices() string {
	var text strings.Builder
	for i := range busyServices {
		fmt.Fprintf(&text, `
apiVersion: v1
kind: Service
metadata: {name: many-%[1]d}
spec: {selector: {app: many-%[1]d}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: many-%[1]d, labels: {app: many-%[1]d}}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 10.1.0.%[1]d, podIPs: [{ip: 10.1.0.%[1]d}], conditions: [{type: Ready, status: "True"}]}
---
`, i)
	}
	return text.String() + podsOfWeb + "---" + writtenByHand + "---" + machine
}

// meddle has all Services synced again and again until ctx ends: it takes their addresses from all
// that was written, so that the controllers have to read what is there.
func (api roleServer) meddle(ctx context.Context, namespace string) {
	for ctx.Err() == nil {
		for i := range busyServices {
			name := fmt.Sprint("many-", i)
			_, _ = api.Client.CoreV1().Endpoints(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"subsets":null}`), metav1.PatchOptions{})
		}
		list, err := api.Client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			_, _ = api.Client.DiscoveryV1().EndpointSlices(namespace).Patch(ctx, list.Items[i].Name, types.MergePatchType, []byte(`{"endpoints":[]}`), metav1.PatchOptions{})
		}
	}
}

func take[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(deliveryTimeout):
		t.Fatalf("nothing came within %v", deliveryTimeout)
		panic("unreachable")
	}
}
