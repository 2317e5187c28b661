package mirroring

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/controllers/reconcile"
)

// Metrics are the metrics of mirroring (spec/endpoints.md §14.5).
type Metrics struct {
	added, updated, removed, skipped, duration prometheus.Histogram

	changes                         *prometheus.CounterVec
	endpoints, slices, wantedSlices prometheus.Gauge
	// totals has these gauges.
	totals *reconcile.Totals
}

const subsystem = "endpoint_slice_mirroring_controller"

// NewMetrics returns metrics and registers them, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	many := prometheus.ExponentialBuckets(2, 2, 15)
	m := &Metrics{
		added:        histogram("endpoints_added_per_sync", "Endpoints that a sync added to slices.", many),
		updated:      histogram("endpoints_updated_per_sync", "Endpoints that a sync changed in slices.", many),
		removed:      histogram("endpoints_removed_per_sync", "Endpoints that a sync removed from slices.", many),
		skipped:      histogram("addresses_skipped_per_sync", "Addresses that a sync didn't mirror, because they are no IPs or too many.", many),
		duration:     histogram("endpoints_sync_duration", "Time that the sync of one Endpoints object took, in seconds.", prometheus.ExponentialBuckets(0.001, 2, 15)),
		endpoints:    gauge("endpoints_desired", "Endpoints that there are to be in slices."),
		slices:       gauge("num_endpoint_slices", "Slices that there are."),
		wantedSlices: gauge("desired_endpoint_slices", "Slices that there are to be."),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Subsystem: subsystem, Name: "changes", Help: "Changes of slices, by operation (create, update, delete).",
		}, []string{"operation"}),
	}
	m.totals = reconcile.NewTotals(m.endpoints, m.slices, m.wantedSlices)
	if r != nil {
		r.MustRegister(m.added, m.updated, m.removed, m.skipped, m.duration, m.endpoints, m.slices, m.wantedSlices, m.changes)
	}
	return m
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets})
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: name, Help: help})
}

func (m *Metrics) changed(operation string) { m.changes.WithLabelValues(operation).Inc() }

// synced records the sync of a Service that now has this many slices.
func (m *Metrics) synced(key reconcile.Key, s Stats, slices int, took time.Duration) {
	m.added.Observe(float64(s.Added))
	m.updated.Observe(float64(s.Updated))
	m.removed.Observe(float64(s.Removed))
	m.skipped.Observe(float64(s.Skipped))
	m.duration.Observe(took.Seconds())
	m.totals.Set(key, s.Endpoints, slices, s.Slices)
}
