package controllers_test

import (
	"context"
	"flag"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// parallelTests is the number of tests that run in parallel. They mostly wait for the API server.
const parallelTests = "8"

// sequences is the number of random sequences per property, without -rapid.checks.
const sequences = "200"

// steps is the average length of a sequence.
const steps = "60"

func TestMain(m *testing.M) {
	flag.Parse()
	unlessGiven("test.parallel", parallelTests)
	unlessGiven("rapid.checks", sequences)
	unlessGiven("rapid.steps", steps)
	// The libraries log errors, mostly about deleted namespaces.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(kubetest.Wrap(stopping{m}, kubetest.WithCRDs("../deploy/crds")))
}

// unlessGiven sets a flag that isn't on the command line.
func unlessGiven(name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// stopping ends the controllers after the tests, while the API server still runs.
type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer controlled.stop()
	return s.M.Run()
}

// controlled is the only set of controllers of this test binary, because a set writes in all namespaces.
var controlled environment

// environment is a set of controllers with the API server of the tests.
type environment struct {
	once    sync.Once
	err     error
	cluster *kubetest.Cluster

	set *controllers.Set
	// beside are tables of another role, which are filled from the same watches.
	beside   []kube.AnyTable
	registry *prometheus.Registry
	// seen has the objects of the tables of the set, once their handlers have returned.
	seen seen
	// journal has the writes of the controllers, and watchDelays delays their watches.
	journal     *journal
	watchDelays *watchDelays
	log         *lines

	endWatches func()
	// endTerm is nil between terms.
	endTerm func()
}

// start starts the controllers on first use.
func (w *environment) start(t testing.TB) {
	t.Helper()
	cluster := kubetest.Start(t)
	w.once.Do(func() {
		w.cluster = cluster
		if w.err = w.assemble(); w.err == nil {
			w.begin()
		}
	})
	if w.err != nil {
		t.Fatal(w.err)
	}
}

// assemble creates the set and fills its tables.
func (w *environment) assemble() error {
	w.journal, w.watchDelays, w.registry = &journal{}, newWatchDelays(), prometheus.NewRegistry()
	w.log = &lines{}
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	writing := rest.CopyConfig(w.cluster.Config)
	writing.Wrap(w.journal.wrap)
	client, err := kubernetes.NewForConfig(writing)
	if err != nil {
		return err
	}
	loop := controllers.Loop{Workers: 5}
	w.set = controllers.New(controllers.Config{
		Controllers: controllers.Names(), Client: client, EventClient: client,
		Endpoints: loop, EndpointSlices: loop, Mirroring: loop, ExternalWorkloads: loop,
		MaxEndpointsPerSlice: 100, MirroringMaxEndpointsPerSubset: 1000, RepairFirst: 1,
		Metrics: reconcile.NewMetrics(w.registry, w.registry), Logger: logger,
	})
	reading := rest.CopyConfig(w.cluster.Config)
	reading.Wrap(w.watchDelays.wrap)
	tables, err := kube.New(kube.Options{Config: reading, Logger: logger}, slices.Concat(w.beside, w.set.Tables(), w.seen.tables())...)
	if err != nil {
		return err
	}
	for name, zone := range map[string]string{nodeA: "a", nodeB: "b"} {
		if err := makeNode(context.Background(), w.cluster.Client, newNode(name, zone, controlPlane)); err != nil {
			return err
		}
	}
	w.endWatches = inBackground(func(ctx context.Context) { _ = tables.Run(ctx) })
	<-tables.Settled()
	return nil
}

// begin starts a term.
func (w *environment) begin() {
	w.endTerm = inBackground(func(ctx context.Context) { _ = w.set.Lead(ctx) })
}

// end ends the term.
func (w *environment) end() {
	w.endTerm()
	w.endTerm = nil
}

func (w *environment) stop() {
	if w.endTerm != nil {
		w.end()
	}
	if w.endWatches != nil {
		w.endWatches()
	}
}

// inBackground runs a function until the one that it returns is called.
func inBackground(run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// patience is how long a test waits for an expected event, which usually takes milliseconds.
const patience = 20 * time.Second

// lines keep the log of the controllers.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, string(line))
	return len(line), nil
}

// about returns the lines about a namespace or the cluster.
func (l *lines) about(namespace string) string { return l.containing(namespace, "cluster=") }

// containing returns the lines that contain one of the texts.
func (l *lines) containing(texts ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found strings.Builder
	for _, line := range l.list {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			found.WriteString(line)
		}
	}
	return found.String()
}
