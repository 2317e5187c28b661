package kube

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of one cluster. Those labelled with the cluster are unregistered when it ends; the
// lag histograms are shared by all clusters.
type metrics struct {
	registerer prometheus.Registerer
	cluster    string

	mu sync.Mutex
	// own are the metrics labelled with the cluster, and shown those of them that are registered.
	own, shown []prometheus.Collector
	ended      bool
}

func newMetrics(r prometheus.Registerer, cluster string) *metrics {
	return &metrics{registerer: r, cluster: cluster}
}

// add makes the metrics of a feed. They are registered by register.
func (m *metrics) add(f *feed) {
	both := prometheus.Labels{"cluster": m.cluster, "kind": f.kind}
	m.own = append(
		m.own,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        f.kind + "_cache_size",
			Help:        "Number of objects of the kind that are held in memory.",
			ConstLabels: prometheus.Labels{"cluster": m.cluster},
		}, func() float64 { return float64(f.len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "kube_table_stale_seconds",
			Help:        "Time for which changes of the kind may have been missed; 0 while they are followed.",
			ConstLabels: both,
		}, func() float64 { return f.stale().Seconds() }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "kube_table_failures_total",
			Help:        "Failed attempts to list or watch the kind.",
			ConstLabels: both,
		}, func() float64 { return float64(f.failureCount()) }),
	)
}

func (m *metrics) addRewinds(count func() uint64) {
	m.own = append(m.own, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "kube_rewinds_total",
		Help:        "How often the resource version of the API server went back, after which all kinds were listed again.",
		ConstLabels: prometheus.Labels{"cluster": m.cluster},
	}, func() float64 { return float64(count()) }))
}

// register registers the metrics that were added and aren't registered yet.
func (m *metrics) register() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil
	}
	for _, c := range m.own[len(m.shown):] {
		if err := m.registerer.Register(c); err != nil {
			return fmt.Errorf("register metrics for cluster %s: %w; give each cluster of a registry its own name", m.cluster, err)
		}
		m.shown = append(m.shown, c)
	}
	return nil
}

// unregister removes the metrics labelled with the cluster, for good.
func (m *metrics) unregister() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for _, c := range m.shown {
		m.registerer.Unregister(c)
	}
	m.shown = nil
}

// lagObserver returns the function that observes the lag of an update of a kind. Its argument is the time of
// the update in Unix seconds.
func (m *metrics) lagObserver(kind string, now func() time.Time) (func(int64), error) {
	if kind == "" {
		return func(int64) {}, nil
	}
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    kind + "_informer_lag_seconds",
		Help:    "Time between an update of an object, by its managed fields, and its arrival here.",
		Buckets: []float64{0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000},
	})
	var known prometheus.AlreadyRegisteredError
	if err := m.registerer.Register(histogram); errors.As(err, &known) {
		shared, ok := known.ExistingCollector.(prometheus.Histogram)
		if !ok {
			return nil, fmt.Errorf("register lag of %s: %w", kind, err)
		}
		histogram = shared
	} else if err != nil {
		return nil, fmt.Errorf("register lag of %s: %w", kind, err)
	}
	return func(updated int64) {
		histogram.Observe(now().Sub(time.Unix(updated, 0)).Seconds())
	}, nil
}
