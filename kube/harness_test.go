package kube

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../deploy/crds")))
}

// recorder is a Sink that holds what it was given, and everything else a cluster hands out.
type recorder struct {
	mu       sync.Mutex
	objects  map[catalog.ID]catalog.Object
	problems []string
	registry *prometheus.Registry
}

func newRecorder() *recorder {
	return &recorder{objects: map[catalog.ID]catalog.Object{}, registry: prometheus.NewRegistry()}
}

func (r *recorder) Put(o catalog.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[o.ID()] = o
}

func (r *recorder) Delete(id catalog.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.objects, id)
}

func (r *recorder) report(p objectmeta.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, p.Kind+" "+p.Name+" "+p.Field)
}

func (r *recorder) get(id catalog.ID) catalog.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[id]
}

// names returns the objects of a namespace as "kind/name", sorted.
func (r *recorder) names(namespace string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for id := range maps.Keys(r.objects) {
		if id.Namespace == namespace {
			all = append(all, fmt.Sprintf("%d/%s", id.Kind, id.Name))
		}
	}
	slices.Sort(all)
	return all
}

func (r *recorder) reported(problem string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.problems, problem)
}

// run starts a cluster, which ends with the test.
func run(t *testing.T, cfg *rest.Config, r *recorder, tables ...AnyTable) *Cluster {
	t.Helper()
	return runWith(t, Options{Config: cfg, Registerer: r.registry, Report: r.report}, tables...)
}

// runWith does so with options that have no logger.
func runWith(t *testing.T, o Options, tables ...AnyTable) *Cluster {
	t.Helper()
	return runLogged(t, t.Output(), o, tables...)
}

// runLogged is runWith with a log.
func runLogged(t *testing.T, log io.Writer, o Options, tables ...AnyTable) *Cluster {
	t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	c, err := New(o, tables...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the cluster did not stop within 30s")
		}
	})
	return c
}

// storeOf returns what a reflector would fill tables through.
func storeOf(t testing.TB, b binding, tables ...AnyTable) *store {
	t.Helper()
	if b.lagObserver == nil {
		b.lagObserver = func(string) (func(int64), error) { return func(int64) {}, nil }
	}
	b.now = time.Now
	f, err := newFeed(tables[0].spec(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := f.add(table); err != nil {
			t.Fatal(err)
		}
	}
	return newStore(f.parts[0])
}

func settle(t *testing.T, c *Cluster) {
	t.Helper()
	select {
	case <-c.Settled():
	case <-time.After(30 * time.Second):
		t.Fatalf("the cluster did not settle: %+v", c.Status())
	}
}

func status(c *Cluster, kind string) TableStatus {
	for _, s := range c.Status() {
		if s.Kind == kind {
			return s
		}
	}
	return TableStatus{}
}

// await waits until a table is in a state for a reason.
func await(t *testing.T, c *Cluster, kind string, want State, reason Reason) {
	t.Helper()
	kubetest.Eventually(t, 30*time.Second, func() error {
		if s := status(c, kind); s.State != want || s.Reason != reason {
			return fmt.Errorf("%s is %s %q (%s), want %s %q", kind, s.State, s.Reason, s.Detail, want, reason)
		}
		return nil
	})
}

// gauge returns the value of a gauge or a counter with these labels, in any order; -1 without it.
func gauge(t *testing.T, r *recorder, name string, labels ...string) float64 {
	t.Helper()
	slices.Sort(labels)
	for i, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		labels[i] = fmt.Sprintf("%s=%q", key, value)
	}
	if value, ok := metrictest.Series(t, r.registry)[name+"{"+strings.Join(labels, ",")+"}"]; ok {
		return value
	}
	return -1
}
