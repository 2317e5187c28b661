package controllers

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/controllers/endpoints"
	"github.com/signpostd/signpost/controllers/endpointslices"
	"github.com/signpostd/signpost/controllers/externalworkloads"
	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/mirroring"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/controllers/writeclient"
	"github.com/signpostd/signpost/internal/eventsink"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/tracing"
	"github.com/signpostd/signpost/kube"
)

// Name is the name of a controller, as in the flag --controllers.
type Name string

// The controllers.
const (
	// Endpoints writes the Endpoints of Services that select pods.
	Endpoints Name = "endpoints"
	// EndpointSlices writes the EndpointSlices of Services that select pods.
	EndpointSlices Name = "endpointslices"
	// Mirroring writes the EndpointSlices of hand-written Endpoints.
	Mirroring Name = "mirroring"
	// ExternalWorkloads writes the EndpointSlices of Services that select ExternalWorkloads.
	ExternalWorkloads Name = "externalworkloads"
)

// Names returns the names of all controllers.
func Names() []Name { return []Name{Endpoints, EndpointSlices, Mirroring, ExternalWorkloads} }

// Loop has the settings that the controllers have in common.
type Loop struct {
	// Workers is how many Services are synced at once.
	Workers int
	// BatchPeriod is how long a pod's change waits, to be synced together with further changes.
	BatchPeriod time.Duration
}

// Config configures a [Set].
type Config struct {
	// Controllers are the controllers to run, of [Names]; at least one.
	Controllers []Name
	// Client writes the objects. With leader election, its transport must refuse writes while this process is
	// not the leader.
	Client kubernetes.Interface
	// EventClient writes the Events, with a rate limit of its own.
	EventClient kubernetes.Interface

	Endpoints, EndpointSlices, Mirroring, ExternalWorkloads Loop
	// MaxEndpointsPerSlice and MirroringMaxEndpointsPerSubset are from 1 to 1000.
	MaxEndpointsPerSlice, MirroringMaxEndpointsPerSubset int
	// RepairFirst is as in [reconcile.Options].
	RepairFirst time.Duration

	// Tracer starts a span for each sync; nil starts none.
	Tracer *tracing.Tracer
	// Metrics and Logger are required.
	Metrics *reconcile.Metrics
	// History is as in [reconcile.Options].
	History *history.Log
	// MirroringMetrics are the metrics of mirroring; nil for none.
	MirroringMetrics *mirroring.Metrics
	Logger           *slog.Logger
}

type controller struct {
	runner
	// objects describes the objects that the controller writes, in words.
	objects string
}

type runner interface {
	// Run works for one term of leadership.
	Run(ctx context.Context)
	reconcile.Status
}

// Set is a set of controllers over shared tables.
type Set struct {
	events *eventsink.Recorders
	run    []controller
	tables []kube.AnyTable

	// Tables and indexes that no controller needs are nil.
	services              *kube.Table[corev1.Service]
	pods                  *kube.Table[watched.Pod]
	endpoints             *kube.Table[watched.EncodedEndpoints]
	slices                *kube.Table[watched.Slice]
	workloads             *kube.Table[externalworkloads.Workload]
	podIndex              *membership.Index[*watched.Pod]
	externalWorkloadIndex *membership.Index[*externalworkloads.Workload]

	// Controllers that are not run are nil.
	endpointsController        *endpoints.Controller
	slicesController           *endpointslices.Controller
	mirroringController        *mirroring.Controller
	externalWorkloadController *externalworkloads.Controller
}

// New returns a set that isn't running.
func New(c Config) *Set {
	s := &Set{events: eventsink.NewRecorders(c.EventClient.CoreV1(), c.Logger)}
	s.makeTables(c)
	s.makeControllers(c)
	return s
}

// Tables returns the tables that the cluster must fill.
func (s *Set) Tables() []kube.AnyTable { return s.tables }

// Lead runs the controllers until ctx ends. Call it once the tables are filled.
func (s *Set) Lead(ctx context.Context) error {
	stop := s.events.Start()
	defer stop()
	var running sync.WaitGroup
	for _, c := range s.run {
		running.Go(func() { c.Run(ctx) })
	}
	running.Wait()
	return nil
}

// Health returns the combined health of the writes of all controllers. Between terms it is zero.
func (s *Set) Health() reconcile.Health {
	var health reconcile.Health
	for _, c := range s.run {
		health = health.Join(c.Health())
	}
	return health
}

// Waiting returns why a Service waits for its next sync or is contested, by the kind of objects that its controller writes.
// Between terms the map is empty.
func (s *Set) Waiting(key reconcile.Key) map[string]reconcile.Wait {
	waits := map[string]reconcile.Wait{}
	for _, c := range s.run {
		if wait, ok := c.Waiting(key); ok {
			waits[c.objects] = wait
		}
	}
	return waits
}

// Unwritten is a change of a Service that a controller has not written yet, or that another writer keeps reverting.
type Unwritten struct {
	reconcile.KeyWait
	// Objects describes the objects that the controller writes, in words.
	Objects string
}

// AllWaiting returns the unwritten changes that have waited longest, at most limit, and the number of all.
// Between terms there are none.
func (s *Set) AllWaiting(limit int) (oldest []Unwritten, total int) {
	for _, c := range s.run {
		waits, n := c.AllWaiting(limit)
		total += n
		for _, w := range waits {
			oldest = append(oldest, Unwritten{w, c.objects})
		}
	}
	slices.SortStableFunc(oldest, func(a, b Unwritten) int { return reconcile.CompareKeyWaits(a.KeyWait, b.KeyWait) })
	return oldest[:min(len(oldest), limit)], total
}

// makeTables makes the tables that the controllers need.
func (s *Set) makeTables(c Config) {
	runs := func(names ...Name) bool {
		return slices.ContainsFunc(names, func(n Name) bool { return slices.Contains(c.Controllers, n) })
	}
	s.services = watched.Services().Table(kube.WithHandler(s.serviceChanged))
	s.tables = append(s.tables, s.services)
	if runs(Endpoints, EndpointSlices) {
		s.podIndex = membership.New(func(p *watched.Pod) (types.NamespacedName, objectmeta.Labels) {
			return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, p.Labels
		})
		s.pods = watched.Pods().Table(kube.WithHandler(s.podChanged))
		s.tables = append(s.tables, s.pods)
	}
	if runs(EndpointSlices) {
		s.tables = append(s.tables, watched.Nodes().Table(kube.WithHandler(s.nodeChanged)))
	}
	if runs(Endpoints, Mirroring) {
		s.endpoints = watched.Endpoints().Table(kube.WithHandler(s.endpointsChanged))
		s.tables = append(s.tables, s.endpoints)
	}
	var writers []string
	if runs(EndpointSlices) {
		writers = append(writers, endpointslices.ManagedBy)
	}
	if runs(Mirroring) {
		writers = append(writers, mirroring.ManagedBy)
	}
	if runs(ExternalWorkloads) {
		writers = append(writers, externalworkloads.ManagedBy)
		s.externalWorkloadIndex = membership.New(func(w *externalworkloads.Workload) (types.NamespacedName, objectmeta.Labels) {
			return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, w.Labels
		})
		s.workloads = externalworkloads.Workloads().Table(kube.WithHandler(s.workloadChanged))
		s.tables = append(s.tables, s.workloads)
	}
	if len(writers) > 0 {
		s.slices = watched.EndpointSlices(writers...).Table(
			kube.WithIndex(watched.ByService, watched.ServiceKeys), kube.WithHandler(s.sliceChanged),
		)
		s.tables = append(s.tables, s.slices)
	}
}

// makeControllers makes the controllers, which read the tables.
func (s *Set) makeControllers(c Config) {
	if slices.Contains(c.Controllers, Endpoints) {
		s.endpointsController = endpoints.New(endpoints.Options{
			Options: s.loopOptions(c, c.Endpoints, endpoints.Component),
			Client:  writeclient.Endpoints(c.Client.CoreV1()), Services: c.Client.CoreV1(), Pods: s.podIndex, Endpoints: s.endpoints,
		})
		s.run = append(s.run, controller{s.endpointsController, "Endpoints"})
	}
	runsBoth := slices.Contains(c.Controllers, EndpointSlices) && slices.Contains(c.Controllers, Mirroring)
	var mirrored func(reconcile.Key) *corev1.Endpoints
	var tookOver func(reconcile.Key)
	if runsBoth {
		mirrored = func(key reconcile.Key) *corev1.Endpoints { return s.mirroringController.Mirrors(key) }
		tookOver = func(key reconcile.Key) { s.slicesController.Mirrored(key) }
	}
	if slices.Contains(c.Controllers, EndpointSlices) {
		s.slicesController = endpointslices.New(endpointslices.Options{
			Options: s.loopOptions(c, c.EndpointSlices, endpointslices.Component),
			Client:  writeclient.Slices(c.Client.DiscoveryV1()), Services: c.Client.CoreV1(), Mirrored: mirrored, Pods: s.podIndex, PodTable: s.pods, Slices: s.slices,
			MaxEndpointsPerSlice: c.MaxEndpointsPerSlice,
		})
		s.run = append(s.run, controller{s.slicesController, "EndpointSlices for pods"})
	}
	if slices.Contains(c.Controllers, Mirroring) {
		options := s.loopOptions(c, c.Mirroring, mirroring.Component)
		options.RepairBatch = c.Mirroring.BatchPeriod // no workload's change reaches this controller
		s.mirroringController = mirroring.New(mirroring.Options{
			Options: options,
			Client:  writeclient.Slices(c.Client.DiscoveryV1()), Services: s.services, Endpoints: s.endpoints, Slices: s.slices,
			MaxEndpointsPerSubset: c.MirroringMaxEndpointsPerSubset, TookOver: tookOver, Mirrored: c.MirroringMetrics,
		})
		s.run = append(s.run, controller{s.mirroringController, "EndpointSlices that mirror Endpoints"})
	}
	if slices.Contains(c.Controllers, ExternalWorkloads) {
		s.externalWorkloadController = externalworkloads.New(externalworkloads.Options{
			Options: s.loopOptions(c, c.ExternalWorkloads, externalworkloads.Component),
			Client:  writeclient.Slices(c.Client.DiscoveryV1()), Workloads: s.externalWorkloadIndex, Slices: s.slices,
			Known: func() bool { return workloadsKnown(s.workloads.Status()) },
		})
		s.run = append(s.run, controller{s.externalWorkloadController, "EndpointSlices for ExternalWorkloads"})
	}
}

// loopOptions returns the options that controllers have in common.
func (s *Set) loopOptions(c Config, l Loop, component string) reconcile.Options {
	return reconcile.Options{
		Workers: l.Workers, BatchPeriod: l.BatchPeriod, RepairFirst: c.RepairFirst,
		Recorder: s.events.For(component), Tracer: c.Tracer, Metrics: c.Metrics, History: c.History, Logger: c.Logger,
	}
}

// workloadsKnown reports whether a new leader may write slices for ExternalWorkloads. If their table can't be
// read now, it may be older than that of former leaders. kube.CatchUp doesn't wait for such a table, because
// the kind is optional.
func workloadsKnown(s kube.TableStatus) bool {
	return s.State == kube.Synced || s.State == kube.Waiting && s.Reason == kube.NotFound
}
