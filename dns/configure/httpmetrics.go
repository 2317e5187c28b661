package configure

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MeasureHTTP returns a function that wraps the transports of providers to export the duration of
// their requests, as ExternalDNS does (spec/dns.md §10).
func MeasureHTTP(r prometheus.Registerer) (func(http.RoundTripper) http.RoundTripper, error) {
	durations := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: "external_dns_http_request_duration_seconds", Help: "How long requests to providers took.",
		ConstLabels: prometheus.Labels{"handler": "instrumented_http"},
		Objectives:  map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001},
	}, []string{"scheme", "host", "path", "method", "status"})
	if err := r.Register(durations); err != nil {
		return nil, fmt.Errorf("register the metrics of requests: %w", err)
	}
	return func(next http.RoundTripper) http.RoundTripper { return measured{next, durations} }, nil
}

type measured struct {
	next      http.RoundTripper
	durations *prometheus.SummaryVec
}

// RoundTrip implements http.RoundTripper.
func (m measured) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := m.next.RoundTrip(req)
	status := ""
	if err == nil {
		status = strconv.Itoa(resp.StatusCode)
	}
	m.durations.WithLabelValues(req.URL.Scheme, req.URL.Host, path.Base(req.URL.Path), req.Method, status).Observe(time.Since(begun).Seconds())
	return resp, err
}
