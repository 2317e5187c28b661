package reconcile

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Metrics are the metrics of all loops of a process.
type Metrics struct {
	queues     *queueMetrics
	syncs      *prometheus.HistogramVec
	writes     *prometheus.CounterVec
	transition *prometheus.HistogramVec
	persisting *prometheus.CounterVec
	repairs    *prometheus.CounterVec
	problems   *prometheus.CounterVec
	panics     *prometheus.CounterVec
	lastWrite  *prometheus.GaugeVec
	oldest     *ages
	slices     *prometheus.GaugeVec
	endpoints  *prometheus.GaugeVec
}

// NewMetrics returns metrics. It registers those of the queues with queues and the others with r; a nil
// registerer registers nothing.
func NewMetrics(r, queues prometheus.Registerer) *Metrics {
	m := &Metrics{
		queues: newQueueMetrics(),
		syncs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "controller_sync_duration_seconds", Help: "Time that the sync of a Service took, by result.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}, []string{"controller", "result"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_writes_total", Help: "Requests that write objects, by operation (create, update, delete) and result (success, conflict, error).",
		}, []string{"controller", "operation", "result"}),
		transition: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "controller_transition_to_write_seconds", Help: "Time from the change that caused a write (endpoints.kubernetes.io/last-change-trigger-time, in whole seconds) to the end of the write.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 30, 60, 300},
		}, []string{"controller"}),
		persisting: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_persistent_failures_total", Help: "Services whose sync failed 15 times in a row. They are tried again all the same.",
		}, []string{"controller"}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_repairs_total", Help: "Syncs that reverted another writer's change.",
		}, []string{"controller"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_problems_total", Help: "Problems of objects that are left out, by reason, as reported by Events.",
		}, []string{"controller", "reason"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_panics_total", Help: "Syncs that panicked because of a bug. They are retried. The log has the stack.",
		}, []string{"controller"}),
		lastWrite: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "controller_last_write_timestamp_seconds", Help: "Time of the last write that succeeded.",
		}, []string{"controller"}),
		oldest: &ages{of: map[string]func() time.Duration{}, desc: prometheus.NewDesc(
			"controller_oldest_unwritten_seconds", "How long the oldest change has been waiting whose write failed, is held back, or is delayed because another writer keeps changing the object; 0 without one.", []string{"controller"}, nil,
		)},
		slices: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "controller_endpoint_slices", Help: "EndpointSlices that the controller keeps, of both families of addresses.",
		}, []string{"controller"}),
		endpoints: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "controller_endpoints", Help: "Endpoints in the slices that the controller keeps, of both families of addresses.",
		}, []string{"controller"}),
	}
	if r != nil {
		r.MustRegister(m.syncs, m.writes, m.transition, m.persisting, m.repairs, m.problems, m.panics, m.lastWrite, m.oldest, m.slices, m.endpoints)
	}
	if queues != nil {
		q := m.queues
		queues.MustRegister(q.depth, q.unfinished, q.longest, q.adds, q.retries, q.waited, q.worked)
	}
	return m
}

func (m *Metrics) observeSync(controller string, took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.syncs.WithLabelValues(controller, result).Observe(took.Seconds())
}

func (m *Metrics) persistent(controller string) { m.persisting.WithLabelValues(controller).Inc() }

// repaired counts a sync that reverted another writer's change.
func (m *Metrics) repaired(controller string) { m.repairs.WithLabelValues(controller).Inc() }

// Problem counts a problem of an object.
func (m *Metrics) Problem(controller, reason string) {
	m.problems.WithLabelValues(controller, reason).Inc()
}

// wrote counts a write. The cause is the time of the change that led to it; zero if unknown.
func (m *Metrics) wrote(controller, operation string, cause time.Time, err error) {
	result := "success"
	switch {
	case IsConflict(err):
		result = "conflict"
	case err != nil:
		result = "error"
	}
	m.writes.WithLabelValues(controller, operation, result).Inc()
	if err == nil {
		m.lastWrite.WithLabelValues(controller).SetToCurrentTime()
	}
	if err == nil && !cause.IsZero() {
		// The cause is by another clock, which may be ahead, and the sum of a histogram must not decrease.
		m.transition.WithLabelValues(controller).Observe(max(0, time.Since(cause).Seconds()))
	}
}

// ages is a gauge, per controller, of how long something has been waiting. It is computed at each scrape.
type ages struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	of   map[string]func() time.Duration
}

// watch sets the function that returns the age for a controller.
func (a *ages) watch(controller string, age func() time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[controller] = age
}

// Describe implements prometheus.Collector.
func (a *ages) Describe(to chan<- *prometheus.Desc) { to <- a.desc }

// Collect implements prometheus.Collector.
func (a *ages) Collect(to chan<- prometheus.Metric) {
	a.mu.Lock()
	of := maps.Clone(a.of)
	a.mu.Unlock()
	for controller, age := range of {
		to <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, age().Seconds(), controller)
	}
}

// queueMetrics are the metrics of the queues (spec/destination.md §7.2, spec/endpoints.md §9).
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec
}

var _ workqueue.MetricsProvider = (*queueMetrics)(nil)

func newQueueMetrics() *queueMetrics {
	label := []string{"name"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "workqueue", Name: name, Help: help}, label)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "workqueue", Name: name, Help: help}, label)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: "workqueue", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1e-8, 10, 10),
		}, label)
	}
	return &queueMetrics{
		depth:      gauge("depth", "Services that wait for a sync."),
		unfinished: gauge("unfinished_work_seconds", "How long the syncs under way have taken, added up."),
		longest:    gauge("longest_running_processor_seconds", "How long the longest sync under way has taken."),
		adds:       counter("adds_total", "Services that were put into the queue."),
		retries:    counter("retries_total", "Services that were put into the queue with a delay."),
		waited:     histogram("queue_duration_seconds", "Time that Services wait for a sync."),
		worked:     histogram("work_duration_seconds", "Time that syncs take."),
	}
}

// reset sets the gauges of an ended queue to zero.
func (q *queueMetrics) reset(name string) {
	for _, gauge := range []*prometheus.GaugeVec{q.depth, q.unfinished, q.longest} {
		gauge.WithLabelValues(name).Set(0)
	}
}

// NewDepthMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

// NewAddsMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

// NewLatencyMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.waited.WithLabelValues(name)
}

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.worked.WithLabelValues(name)
}

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

// NewRetriesMetric implements workqueue.MetricsProvider.
func (q *queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}
