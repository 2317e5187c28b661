package destination

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sampleInterval is how often the slowest stream is looked for.
const sampleInterval = time.Second

// metrics are those of §7.1 that concern Get, and ours about streams. The
// endpoint metrics are computed when they are scraped, from the open streams, so
// that they cost nothing in between and leave no series behind.
type metrics struct {
	server   *Server
	overflow *prometheus.CounterVec
	slowest  prometheus.Histogram

	subscribers, updates, pods, exists, open *prometheus.Desc
}

func newMetrics(s *Server, r prometheus.Registerer) *metrics {
	labels := []string{"cluster", "namespace", "service", "port", "hostname", "nodename"}
	m := &metrics{
		server: s,
		overflow: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "endpoint_updates_queue_overflow",
			Help: "Streams that fell so far behind that several updates were merged into one. None is lost, and no stream is ended.",
		}, []string{"service"}),
		slowest: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "destination_slowest_stream_lag_seconds",
			Help:    "How far the slowest open stream was behind what was known, sampled each second.",
			Buckets: []float64{.001, .01, .1, 1, 5, 15, 60, 300},
		}),
		subscribers: prometheus.NewDesc("endpoints_subscribers", "Streams that want these endpoints.", labels, nil),
		updates:     prometheus.NewDesc("endpoints_updates", "Changes of these endpoints since somebody wants them.", labels, nil),
		pods:        prometheus.NewDesc("endpoints_pods", "Endpoints in the current answer; the most, where it depends on the client's place.", labels, nil),
		exists:      prometheus.NewDesc("endpoints_exists", "1 if the Service exists, 0 if not.", labels, nil),
		open:        prometheus.NewDesc("destination_open_streams", "Open streams.", []string{"method"}, nil),
	}
	r.MustRegister(m, m.overflow, m.slowest)
	return m
}

// conflated counts a stream that was sent a merged difference.
func (m *metrics) conflated(q question) {
	m.overflow.WithLabelValues(fmt.Sprintf("%s.%s.svc.%s:%d", q.service.Name, q.service.Namespace, m.server.config.ClusterDomain, q.port)).Inc()
}

// sample observes the slowest stream's lag until the context ends.
func (m *metrics) sample(ctx context.Context) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			m.slowest.Observe(m.server.streams.slowest(now).Seconds())
		}
	}
}

func (ss *streams) slowest(now time.Time) time.Duration {
	var lag time.Duration
	ss.each(func(s *stream) { lag = max(lag, s.lag(now)) })
	return lag
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.subscribers, m.updates, m.pods, m.exists, m.open} {
		ch <- d
	}
}

// series is what the endpoint metrics are told apart by; node is empty unless
// the configuration asks for it.
type series struct {
	question question
	node     string
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	streams := map[series]int{}
	subjects := map[question]*subject{}
	total := 0
	m.server.streams.each(func(s *stream) {
		total++
		key := series{question: s.subject.question}
		if m.server.config.NodeMetrics {
			key.node = s.node
		}
		streams[key]++
		subjects[s.subject.question] = s.subject
	})
	ch <- prometheus.MustNewConstMetric(m.open, prometheus.GaugeValue, float64(total), "Get")
	for key, n := range streams {
		m.collectSeries(ch, key, counted{n, subjects[key.question]})
	}
}

type counted struct {
	streams int
	subject *subject
}

func (m *metrics) collectSeries(ch chan<- prometheus.Metric, key series, c counted) {
	q := key.question
	labels := []string{q.service.Cluster, q.service.Namespace, q.service.Name, fmt.Sprint(q.port), q.hostname, key.node}
	size := c.subject.size()
	send := func(d *prometheus.Desc, t prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	send(m.subscribers, prometheus.GaugeValue, float64(c.streams))
	send(m.updates, prometheus.CounterValue, float64(c.subject.updates.Load()))
	send(m.pods, prometheus.GaugeValue, float64(size.endpoints))
	exists := 0.0
	if size.exists {
		exists = 1
	}
	send(m.exists, prometheus.GaugeValue, exists)
}

type size struct {
	endpoints int
	exists    bool
}

func (s *subject) size() size {
	s.mu.Lock()
	defer s.mu.Unlock()
	var z size
	for _, v := range s.views {
		a := v.current.Load()
		z.endpoints = max(z.endpoints, len(a.entries))
		z.exists = a.exists
	}
	return z
}

var _ prometheus.Collector = (*metrics)(nil)
