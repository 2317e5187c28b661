package linked

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are computed when they are scraped, so that a forgotten cluster leaves no series.
type metrics struct {
	set                                                *Set
	size, state, age, objects, pending, unusableSecret *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(s *Set) *metrics {
	return &metrics{
		set:            s,
		size:           prometheus.NewDesc("cluster_store_size", "Linked clusters.", nil, nil),
		state:          prometheus.NewDesc("linked_cluster_state", "1 for the state that a linked cluster is in: connecting, synced or stale.", []string{"cluster", "state"}, nil),
		age:            prometheus.NewDesc("linked_cluster_state_age_seconds", "Time since a linked cluster has come into its state.", []string{"cluster"}, nil),
		objects:        prometheus.NewDesc("linked_cluster_objects", "Objects of a linked cluster that are held in memory.", []string{"cluster"}, nil),
		pending:        prometheus.NewDesc("linked_cluster_credentials_pending", "1 while the newest kubeconfig of a linked cluster isn't in force, and the one before is.", []string{"cluster"}, nil),
		unusableSecret: prometheus.NewDesc("linked_cluster_secret_unusable", "1 for a Secret that was meant to link a cluster and can't be used.", []string{"secret"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.size, m.state, m.age, m.objects, m.pending, m.unusableSecret} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	size := 0
	for _, s := range m.set.Status() {
		if s.State == Unusable {
			gauge(m.unusableSecret, 1, s.Secret)
			continue
		}
		size++
		gauge(m.state, 1, s.Cluster, string(s.State))
		gauge(m.age, time.Since(s.Since).Seconds(), s.Cluster)
		gauge(m.objects, float64(s.Objects), s.Cluster)
		pending := 0.0
		if s.Pending {
			pending = 1
		}
		gauge(m.pending, pending, s.Cluster)
	}
	gauge(m.size, float64(size))
}
