package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/logtest"
)

const thirdPod = `
apiVersion: v1
kind: Pod
metadata: {name: web-3, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 10.1.0.3, podIPs: [{ip: 10.1.0.3}], conditions: [{type: Ready, status: "True"}]}
`

// lateWatches is a transport that can delay the events of open watches.
type lateWatches struct {
	// suffix is the end of the path of the delayed watches.
	suffix string

	mu   sync.Mutex
	late chan struct{} // nil while nothing is delayed
	all  bool          // true if later watches are delayed, too
	// versionReads counts requests for the current version of a resource.
	versionReads atomic.Int32
}

func (l *lateWatches) hold(all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late, l.all = make(chan struct{}), all
}

func (l *lateWatches) roundTrip(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	l.mu.Lock()
	begun := l.late
	l.mu.Unlock()
	if r.URL.Query().Get("limit") == "1" {
		l.versionReads.Add(1)
	}
	response, err := next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, l.suffix) {
		response.Body = &lateBody{response.Body, l, begun, r.Context()}
	}
	return response, err
}

type lateBody struct {
	io.ReadCloser
	of    *lateWatches
	begun chan struct{}
	ctx   context.Context
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.mu.Lock()
	late := b.of.late
	if late == b.begun && !b.of.all {
		late = nil
	}
	b.of.mu.Unlock()
	if late != nil {
		<-b.ctx.Done() // late is never closed: a broken watch
		return 0, b.ctx.Err()
	}
	return n, err
}

// standby starts a writer of Endpoints and slices that doesn't lead yet, and whose watches can be
// delayed.
func (api roleServer) standby(t *testing.T, namespace string, log io.Writer) (*writer, *lateWatches) {
	t.Helper()
	pods := &lateWatches{suffix: "/pods"}
	config := rest.CopyConfig(api.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &lateWatchesOf{pods, next}
	})
	in := roleInput{REST: config, Log: slog.New(slog.NewTextHandler(log, nil)), Registerer: prometheus.NewRegistry(), Metrics: reconcile.NewMetrics(nil, nil)}
	w, err := newWriter(in.of(settings.ControllersSection), writerConfig{
		set: controllers.Config{
			Controllers: []controllers.Name{controllers.Endpoints, controllers.EndpointSlices}, MaxEndpointsPerSlice: 100,
			Endpoints: controllers.Loop{Workers: 1}, EndpointSlices: controllers.Loop{Workers: 1},
		},
		leader: quickLeader(settings.Default().Controllers.Leader, namespace),
	})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.New(kube.Options{Config: config, Logger: in.Log}, w.set.Tables()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func() error{
		func() error { return cluster.Run(ctx) },
		func() error { return w.run(ctx, cluster.Settled()) },
	} {
		running.Go(func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	<-cluster.Settled()
	return w, pods
}

// lateWatchesOf is a lateWatches over one of several transports.
type lateWatchesOf struct {
	*lateWatches
	next http.RoundTripper
}

func (l *lateWatchesOf) WrappedRoundTripper() http.RoundTripper { return l.next }

func (l *lateWatchesOf) RoundTrip(r *http.Request) (*http.Response, error) {
	return l.roundTrip(r, l.next)
}

// A standby whose watches lack the newest pods becomes the leader, and keeps these pods in the
// slices of the former leader. Before, it removed them.
func (api roleServer) testStaleStandby(t *testing.T) {
	ns := api.Namespace(t)
	api.Apply(t, podsOfWeb, ns)
	first := serveConfig(t, api.controllersConfig(ns))
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	_, pods := api.standby(t, ns, t.Output())
	pods.hold(false)
	api.Apply(t, secondPod, ns)
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1", "10.1.0.2")
	api.awaitEndpoints(t, ns, "web", "10.1.0.1", "10.1.0.2")

	list, err := api.Client.DiscoveryV1().EndpointSlices(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := api.Client.DiscoveryV1().EndpointSlices(ns).Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	first.stop(t)
	api.Apply(t, thirdPod, ns)
	stopped := time.Now()
	limit := time.After(deliveryTimeout)
	for {
		select {
		case event := <-changes.ResultChan():
			slice, ok := event.Object.(*discoveryv1.EndpointSlice)
			if !ok {
				t.Fatalf("the watch brought %v", event)
			}
			var addresses []string
			for _, e := range slice.Endpoints {
				addresses = append(addresses, e.Addresses...)
			}
			if text := fmt.Sprint(addresses); !strings.Contains(text, "10.1.0.1") || !strings.Contains(text, "10.1.0.2") {
				t.Fatalf("the new leader has taken a pod out of the slice, which has %s now", text)
			}
			if len(addresses) == 3 {
				t.Logf("the new leader wrote %v after the former one had ended", time.Since(stopped))
				api.awaitEndpoints(t, ns, "web", "10.1.0.1", "10.1.0.2", "10.1.0.3")
				return
			}
		case <-limit:
			t.Fatal("the new leader has not written")
		}
	}
}

// After SIGTERM the next leader starts without reading the current versions, because the former
// leader has stored its versions in the Lease. Before, that took one to three seconds (day2 B9).
func (api roleServer) testNextLeaderWritesAtOnce(t *testing.T) {
	ns := api.Namespace(t)
	api.Apply(t, podsOfWeb, ns)
	first := serveConfig(t, api.controllersConfig(ns))
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	w, transport := api.standby(t, ns, t.Output())
	api.Apply(t, secondPod, ns)
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1", "10.1.0.2")
	first.stop(t)
	api.Apply(t, thirdPod, ns)
	stopped := time.Now()
	api.await(t, ns, "web", endpointsOfPods, "10.1.0.1", "10.1.0.2", "10.1.0.3")
	t.Logf("the new leader wrote %v after the former one had ended", time.Since(stopped))
	if n := transport.versionReads.Load(); n > 0 || w.leadership.fence.Check() != nil {
		t.Errorf("the new leader asked %d times for what it has to know, want none", n)
	}
}

// A leader whose tables can't be brought up to date releases the Lease without a write.
func (api roleServer) testLeaderThatStaysStale(t *testing.T) {
	ns := api.Namespace(t)
	api.Apply(t, podsOfWeb, ns)
	var log logtest.Buffer
	w, pods := api.standby(t, ns, &log)
	pods.hold(true)
	api.Apply(t, secondPod, ns)
	// The other kinds are caught up with in time on a quick machine only.
	late := slices.DeleteFunc(slices.Clone(w.set.Tables()), func(t kube.AnyTable) bool { return t.Resource().Resource != "pods" })
	begin := upToDate{
		lead:   func(context.Context) error { return errors.New("the work has begun") },
		tables: late, limit: 2 * time.Second, log: slog.New(slog.DiscardHandler),
	}
	err := begin.run(t.Context())
	var down *leader.StandDown
	if !errors.As(err, &down) || down.For != begin.limit || !strings.Contains(err.Error(), "not up to date within 2s: catch up with pods") {
		t.Errorf("the term ended with %v, want that another process should try", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := begin.run(ctx); err != nil {
		t.Errorf("the end of the term is the error %v", err)
	}
}
