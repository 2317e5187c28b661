package process

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const (
	// busyServices is how many Services are synced when the Lease is lost.
	busyServices = 12
	// endsWithin limits the time until the work has ended after that. Work ends within
	// milliseconds; the rest is for busy machines.
	endsWithin = 2 * time.Second
)

// faults are network faults between the process and the API server when the Lease is lost.
var faults = map[string]func(*network.APIPath){
	"reset": func(p *network.APIPath) { p.API.Fail(network.Failure{Share: 0.7, Reset: true}) },
	"reset after it was applied": func(p *network.APIPath) {
		p.API.Fail(network.Failure{Share: 0.7, Reset: true, Applied: true})
	},
	"half-open": func(p *network.APIPath) { p.Front.HalfOpen(network.Both) },
	"no answer": func(p *network.APIPath) { p.Front.HalfOpen(network.ToClient) },
	"slow":      func(p *network.APIPath) { p.Front.Slow(2000) },
	"too many requests": func(p *network.APIPath) {
		p.API.Fail(network.Failure{Share: 0.7, Status: 429, RetryAfter: 30 * time.Second})
	},
	"unavailable": func(p *network.APIPath) {
		p.API.Fail(network.Failure{Share: 0.7, Status: 503, RetryAfter: 30 * time.Second})
	},
}

// The controllers end soon after the Lease is lost, although requests fail: client-go retries
// reads, each a second later. Before, they took so long that the process ended with all its
// streams.
func (api roleServer) testWorkEnds(t *testing.T) {
	for name, begin := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api.testWorkEndsAfter(t, func(p *network.APIPath) { begin(p) })
		})
	}
}

func (api roleServer) testWorkEndsAfter(t *testing.T, begin func(*network.APIPath)) {
	ns := api.Namespace(t)
	api.Apply(t, manyServices(), ns)
	path := api.path(t, newRecorder(t))
	w, settled := api.startWriter(t, ns, path.Kubeconfig)
	endsSoon(t, lost{
		leadership: w.leadership, settled: settled, work: w.set.Lead, heal: path.Heal,
		ready: func() error {
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
		},
		begin: func(term context.Context) {
			path.API.Fail(network.Failure{Share: 1, Resource: "leases", Reset: true})
			begin(path)
			go api.changeSlices(term, ns)
		},
	})
}

// lost is work whose Lease is lost.
type lost struct {
	leadership *leadership
	settled    <-chan struct{}
	work       func(context.Context) error
	// ready returns nil when the work is busy. Then begin, called with the context of the work,
	// breaks the network for renewals and other requests. heal repairs the network.
	ready func() error
	begin func(term context.Context)
	heal  func()
}

// endsSoon fails the test if the work doesn't end soon after the Lease is lost.
func endsSoon(t *testing.T, l lost) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	leads, ended, done := make(chan context.Context, 9), make(chan time.Time, 9), make(chan error, 1)
	go func() {
		<-l.settled
		done <- l.leadership.run(ctx, func(ctx context.Context) error {
			leads <- ctx
			err := l.work(ctx)
			ended <- time.Now()
			return err
		})
	}()
	term := take(t, leads)
	kubetest.Eventually(t, deliveryTimeout, l.ready)
	l.begin(term)
	<-term.Done()
	since := time.Now()
	if cause := context.Cause(term); !errors.Is(cause, leader.ErrNotLeading) {
		t.Errorf("the term ended with %v", cause)
	}
	select {
	case at := <-ended:
		t.Logf("the work ended after %v", at.Sub(since))
	case <-time.After(endsWithin):
		t.Errorf("the work goes on %v after the lease was lost:%s", endsWithin, run.Where("lease "+l.leadership.lease))
	}
	l.heal()
	stop()
	if err := take(t, done); err != nil {
		t.Errorf("the election ended with %v", err)
	}
}

func newRecorder(t *testing.T) *history.Recorder {
	t.Helper()
	recorder, err := history.NewRecorder(history.Setup{}, t.TempDir()+"/history")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { recorder.Close() })
	return recorder
}

// path returns a network path to the API server that can be broken.
func (api roleServer) path(t *testing.T, recorder network.Recorder) *network.APIPath {
	t.Helper()
	path, err := network.NewAPIPath(recorder, "replica", api.Kubeconfig, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(path.Close)
	return path
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
	w, err = newWriter(in, writerConfig{leader: soonLost(settings.Default().Controllers.Leader, namespace), set: controllers.Config{
		Controllers: controllers.Names(), MaxEndpointsPerSlice: 100, MirroringMaxEndpointsPerSubset: 1000,
		Endpoints: loop, EndpointSlices: loop, Mirroring: loop, ExternalWorkloads: loop, RepairFirst: time.Millisecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.closeIdle)
	return w, api.fill(t, namespace, w.set.Tables())
}

// fill fills tables until the test ends, over its own connections.
func (api roleServer) fill(t *testing.T, namespace string, tables []kube.AnyTable) (settled <-chan struct{}) {
	t.Helper()
	cluster, err := kube.New(kube.Options{Config: api.Config, Namespaces: []string{namespace}}, tables...)
	if err != nil {
		t.Fatal(err)
	}
	actor(t, cluster.Run)
	return cluster.Settled()
}

// actor runs something until the test ends.
func actor(t *testing.T, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
}

// soonLost returns an election whose Lease is lost soon, and whose work has much time to end.
func soonLost(o settings.Leader, namespace string) settings.Leader {
	o = quickLeader(o, namespace)
	o.Elect, o.LeaseDuration, o.RenewDeadline = true, 15*time.Second, 3*time.Second
	return o
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

// changeSlices removes all addresses from slices and Endpoints until ctx ends, so that the
// controllers sync all Services repeatedly and have to read.
func (api roleServer) changeSlices(ctx context.Context, namespace string) {
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

// dnsFaults are network faults between the process and the name server.
var dnsFaults = map[string]func(*network.DNS){
	"requests are lost": func(d *network.DNS) { d.DropRequests(1, 1) },
	"answers are lost":  func(d *network.DNS) { d.DropResponses(1, 1) },
	"late":              func(d *network.DNS) { d.Delay(4*time.Second, 0) },
	"cut":               func(d *network.DNS) { d.Cut() },
}

// The publishers end soon after the Lease is lost, also with a faulty network to the name server or
// the API server.
func (api roleServer) testDNSWorkEnds(t *testing.T) {
	for name, begin := range dnsFaults {
		t.Run("the name server: "+name, func(t *testing.T) {
			t.Parallel()
			api.testDNSWorkEndsAfter(t, func(d *network.DNS, _ *network.APIPath) { begin(d) })
		})
	}
	for name, begin := range faults {
		t.Run("the API server: "+name, func(t *testing.T) {
			t.Parallel()
			api.testDNSWorkEndsAfter(t, func(_ *network.DNS, p *network.APIPath) { begin(p) })
		})
	}
}

func (api roleServer) testDNSWorkEndsAfter(t *testing.T, begin func(*network.DNS, *network.APIPath)) {
	ns := api.Namespace(t)
	b, recorder := startBIND(t, ""), newRecorder(t)
	names, err := network.NewDNS(recorder, "replica", b.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(names.Close)
	path := api.path(t, recorder)
	_, port, _ := strings.Cut(names.Addr(), ":")
	c := dnsConfig(t, append(b.args(api, ns), "--rfc2136-port="+port, "--source=crd", "--interval=1s", "--min-event-sync-interval=0s")...)
	c.DNS.Leader = soonLost(c.DNS.Leader, ns)
	cfg, err := kube.LoadConfig(path.Kubeconfig, version.UserAgent("test"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newDNSRole(t.Context(), roleInput{REST: cfg, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}, c.DNS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	settled := api.fill(t, ns, r.role().Tables)
	for _, a := range r.role().Actors(settled)[1:] { // all but the leader
		actor(t, a.Run)
	}
	api.Apply(t, published("shop", "192.0.2.1")+"---"+endpointB, ns)
	endsSoon(t, lost{
		leadership: r.leadership, settled: settled, work: r.publish,
		ready: func() error {
			if list := strings.Join(b.names(t), ","); !strings.Contains(list, "shop A") || !strings.Contains(list, "b A") {
				return fmt.Errorf("the zone has %s", list)
			}
			return nil
		},
		begin: func(term context.Context) {
			path.API.Fail(network.Failure{Share: 1, Resource: "leases", Reset: true})
			begin(names, path)
			go api.changeRecords(term, ns)
		},
		heal: func() {
			names.Heal()
			path.Heal()
		},
	})
}

// changeRecords changes records repeatedly until ctx ends.
func (api roleServer) changeRecords(ctx context.Context, namespace string) {
	records := api.Dynamic.Resource(externaldns.SchemeGroupVersion.WithResource("dnsendpoints")).Namespace(namespace)
	for i := 0; ctx.Err() == nil; i++ {
		patch := fmt.Sprintf(`{"spec":{"endpoints":[{"dnsName":"b.example.test","recordType":"A","targets":["192.0.2.%d"]}]}}`, i%200)
		_, _ = records.Patch(ctx, "records", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
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
