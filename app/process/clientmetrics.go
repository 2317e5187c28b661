package process

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

// maxHosts limits the values of the label host, because linked clusters may come and go with ever
// new hosts.
const maxHosts = 100

// other is the label of hosts beyond the limit, and of unknown values.
const other = "other"

// clientMetrics observes all requests of the process to API servers. client-go accepts one observer
// per process, so all registries share it.
type clientMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec

	mu    sync.Mutex
	hosts map[string]bool
}

// requestsToAPIServers is client-go's observer.
var requestsToAPIServers = sync.OnceValue(func() *clientMetrics {
	m := newClientMetrics()
	metrics.Register(metrics.RegisterOpts{RequestResult: m, RequestLatency: m})
	return m
})

func newClientMetrics() *clientMetrics {
	return &clientMetrics{
		hosts: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total",
			Help: "Requests to API servers, by status code, method and host.",
		}, []string{"code", "method", "host"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rest_client_request_duration_seconds",
			Help:    "Time that requests to API servers took, by verb and host.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
		}, []string{"verb", "host"}),
	}
}

// registerClientMetrics adds the metrics of requests to API servers to a registry.
func registerClientMetrics(r prometheus.Registerer) error {
	m := requestsToAPIServers()
	for _, c := range []prometheus.Collector{m.requests, m.duration} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register the metrics of requests to API servers: %w", err)
		}
	}
	return nil
}

// host returns the label of a host.
func (m *clientMetrics) host(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.hosts[name] {
		if len(m.hosts) >= maxHosts {
			return other
		}
		m.hosts[name] = true
	}
	return name
}

// method returns the label of a method.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return name
	default:
		return other
	}
}

// code returns the label of a status code, which may be client-go's word for no response.
func code(text string) string {
	if n, err := strconv.Atoi(text); err == nil && http.StatusText(n) == "" {
		return other
	}
	return text
}

// Increment implements metrics.ResultMetric.
func (m *clientMetrics) Increment(_ context.Context, status, verb, host string) {
	m.requests.WithLabelValues(code(status), method(verb), m.host(host)).Inc()
}

// Observe implements metrics.LatencyMetric.
func (m *clientMetrics) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	m.duration.WithLabelValues(method(verb), m.host(u.Host)).Observe(took.Seconds())
}
