package destination

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// sampleInterval is the time between two samples of the slowest stream.
const sampleInterval = time.Second

// metrics are the metrics of §7.1 about Get and GetProfile, and our own about streams. The series of Services
// and addresses are computed from the open streams at each scrape, so they end with the streams.
type metrics struct {
	server  *Server
	slowest prometheus.Histogram
	refused *prometheus.CounterVec
	// conflicts counts the address conflicts of responses.
	conflicts *prometheus.CounterVec
	// addressOverflow is the overflow counter of profiles of addresses, without labels.
	addressOverflow prometheus.Counter
}

const overflowHelp = "Times that a stream was so far behind that updates were merged into one. None is lost, and no stream is ended."

// The metrics of open streams. The overflow counters count merged updates.
var (
	endpointLabels = []string{"cluster", "namespace", "service", "port", "hostname", "nodename"}
	profileLabels  = []string{"namespace", "profile"}

	openDesc                = prometheus.NewDesc("destination_open_streams", "Open streams.", []string{"method"}, nil)
	subscribersDesc         = prometheus.NewDesc("endpoints_subscribers", "Streams that want these endpoints.", endpointLabels, nil)
	updatesDesc             = prometheus.NewDesc("endpoints_updates", "Changes of these endpoints since their first open stream.", endpointLabels, nil)
	podsDesc                = prometheus.NewDesc("endpoints_pods", "Endpoints in the current response; the largest number, if it depends on the node or zone of the client.", endpointLabels, nil)
	existsDesc              = prometheus.NewDesc("endpoints_exists", "1 if the Service exists, 0 if not.", endpointLabels, nil)
	profileSubscribersDesc  = prometheus.NewDesc("profile_subscribers", "Streams that want the profile of this Service.", profileLabels, nil)
	profileUpdatesDesc      = prometheus.NewDesc("profile_updates", "Changes of this profile since its first open stream.", profileLabels, nil)
	workloadSubscribersDesc = prometheus.NewDesc("workload_subscribers", "Streams that want the profile of an address.", nil, nil)
	workloadUpdatesDesc     = prometheus.NewDesc("workload_updates", "Changes of the profiles of addresses with open streams.", nil, nil)
	serviceSubscribersDesc  = prometheus.NewDesc("service_subscribers", "Streams that want to know the opaque ports of this Service.", []string{"namespace", "name"}, nil)
	endpointOverflowDesc    = prometheus.NewDesc("endpoint_updates_queue_overflow", overflowHelp, []string{"service"}, nil)
	profileOverflowDesc     = prometheus.NewDesc("profile_updates_queue_overflow", overflowHelp, []string{"fqn", "port"}, nil)
)

func newMetrics(s *Server, r prometheus.Registerer) *metrics {
	m := &metrics{
		server: s,
		slowest: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "destination_slowest_stream_lag_seconds",
			Help:    "How far the slowest open stream was behind what was known, sampled each second.",
			Buckets: []float64{.001, .01, .1, 1, 5, 15, 60, 300},
		}),
		refused: clientlimits.NewRefusedCounter("destination_refused_total",
			"Connections, requests and queries that a limit refused, by the limit. An invalid context_token is only ignored.",
			refusedPath, refusedToken, refusedUndeclaredPort),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "destination_address_conflicts_total",
			Help: "Times that a response met an address that several Services or several workloads claim. The log names each address once.",
		}, []string{"claimants"}),
		addressOverflow: prometheus.NewCounter(prometheus.CounterOpts{Name: "endpoint_profile_updates_queue_overflow", Help: overflowHelp}),
	}
	for _, claimants := range []string{conflictServices, conflictWorkloads} {
		m.conflicts.WithLabelValues(claimants)
	}
	r.MustRegister(m, m.slowest, m.refused, m.conflicts, m.addressOverflow, s.connections.UnreadGauge("destination_unread_bytes"))
	return m
}

// overflowing returns the value of the label service. For a remote Service, the value is the name in its own
// cluster (§2.2).
func (m *metrics) overflowing(q query) string {
	name, domain := q.service.Name, m.server.config.ClusterDomain
	s, ok := m.server.catalog.FindService(q.service)
	if ok && s.Federation == nil && s.RemoteCluster != nil && s.RemoteService != nil {
		if c := m.server.catalog.Cluster(*s.RemoteCluster); c != nil {
			name, domain = *s.RemoteService, c.ClusterDomain
		}
	}
	return fmt.Sprintf("%s.%s.svc.%s:%d", name, q.service.Namespace, domain, q.port)
}

// sample observes the lag of the slowest stream until the context ends.
func (m *metrics) sample(ctx context.Context) {
	ticker := time.Tick(sampleInterval)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker:
			m.slowest.Observe(m.slowestLag(now).Seconds())
		}
	}
}

func (m *metrics) slowestLag(now time.Time) time.Duration {
	var lag time.Duration
	m.server.getStreams.Each(func(s *stream) { lag = max(lag, s.lag(now)) })
	m.server.profileStreams.Each(func(s *profileStream) { lag = max(lag, s.lag(now)) })
	return lag
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		openDesc, subscribersDesc, updatesDesc, podsDesc, existsDesc, profileSubscribersDesc, profileUpdatesDesc,
		workloadSubscribersDesc, workloadUpdatesDesc, serviceSubscribersDesc, endpointOverflowDesc, profileOverflowDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.collectEndpoints(ch)
	m.collectProfiles(ch)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func count(ch chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// series is one series of the endpoint metrics; node is empty without Config.NodeMetrics.
type series struct {
	topic *topic
	node  string
}

func (m *metrics) collectEndpoints(ch chan<- prometheus.Metric) {
	streams := map[series]int{}
	total := 0
	m.server.getStreams.Each(func(s *stream) {
		total++
		key := series{topic: s.topic}
		if m.server.config.NodeMetrics {
			key.node = s.node
		}
		streams[key]++
	})
	gauge(ch, openDesc, float64(total), "Get")
	m.collectOverflows(ch, streams)
	for key, n := range streams {
		q := key.topic.query
		labels := []string{q.service.Cluster, q.service.Namespace, q.service.Name, fmt.Sprint(q.port), q.hostname, key.node}
		size := key.topic.size()
		gauge(ch, subscribersDesc, float64(n), labels...)
		count(ch, updatesDesc, key.topic.updates.Load(), labels...)
		gauge(ch, podsDesc, float64(size.endpoints), labels...)
		gauge(ch, existsDesc, size.exists, labels...)
	}
}

// collectOverflows collects one series for each port of a Service with merged updates. The series ends with
// the last stream for the port.
func (m *metrics) collectOverflows(ch chan<- prometheus.Metric, streams map[series]int) {
	seen := map[*topic]struct{}{}
	overflows := map[string]uint64{}
	for key := range streams {
		if _, counted := seen[key.topic]; counted {
			continue
		}
		seen[key.topic] = struct{}{}
		if n := key.topic.overflows.Load(); n > 0 {
			overflows[m.overflowing(key.topic.query)] += n
		}
	}
	for service, n := range overflows {
		count(ch, endpointOverflowDesc, n, service)
	}
}

// size is the number of endpoints in the largest response of a topic, and 1 if the Service exists, otherwise
// 0.
type size struct {
	endpoints int
	exists    float64
}

func (s *topic) size() size {
	s.mu.Lock()
	defer s.mu.Unlock()
	var z size
	for _, v := range s.views {
		a := v.current.Load()
		z.endpoints = max(z.endpoints, len(a.entries))
		if a.exists {
			z.exists = 1
		}
	}
	return z
}
