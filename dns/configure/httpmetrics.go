package configure

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"sync"
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
	paths := &pathNames{known: map[string]struct{}{}}
	return func(next http.RoundTripper) http.RoundTripper { return measured{next, durations, paths} }, nil
}

const (
	// maxPaths is how many paths are told apart. Some providers have the ID or the name of a record in the path,
	// so that each record would be a series.
	maxPaths = 64
	// otherPath is the label of further paths.
	otherPath = "other"
)

// pathNames are the paths that are told apart: the first ones that were requested.
type pathNames struct {
	mu    sync.Mutex
	known map[string]struct{}
}

// label returns the label of a path: its last segment, or otherPath.
func (p *pathNames) label(of string) string {
	name := path.Base(of)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[name]; !known && len(p.known) >= maxPaths {
		return otherPath
	}
	p.known[name] = struct{}{}
	return name
}

type measured struct {
	next      http.RoundTripper
	durations *prometheus.SummaryVec
	paths     *pathNames
}

// RoundTrip implements http.RoundTripper.
func (m measured) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := m.next.RoundTrip(req)
	status := ""
	if err == nil {
		status = strconv.Itoa(resp.StatusCode)
	}
	m.durations.WithLabelValues(req.URL.Scheme, req.URL.Host, m.paths.label(req.URL.Path), req.Method, status).Observe(time.Since(begun).Seconds())
	return resp, err
}
