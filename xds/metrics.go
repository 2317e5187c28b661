package xds

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/sanitize"
)

// metrics are those of §10.1. Those of streams are computed from the open streams when they are
// scraped.
type metrics struct {
	server *Server
	// responses and bytes are looked up once: each message is counted.
	responses     [resourceTypes]map[string]prometheus.Counter // by the variant
	bytes         [resourceTypes]prometheus.Counter
	nacks         *prometheus.CounterVec
	refused       *prometheus.CounterVec
	paced         prometheus.Histogram
	streams       *prometheus.Desc
	subscriptions *prometheus.Desc
	rejected      *prometheus.Desc
	resources     *prometheus.Desc
	lag           *prometheus.Desc
}

func newMetrics(s *Server, r prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	responses := counter("xds_responses_total", "Responses that were sent.", "type", "variant")
	bytes := counter("xds_sent_bytes_total", "Bytes of the responses that were sent.", "type")
	m := &metrics{
		server:  s,
		nacks:   counter("xds_nacks_total", "Responses that clients rejected, by their kind. The log has each rejected version once.", "type", "client"),
		refused: counter("xds_refused_total", "What clients sent or asked for that a limit refused, by the limit. Of a node, what is too long is ignored.", "reason"),
		paced: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "xds_paced_seconds",
			Help:    "For how long changes of endpoints were held back because sending them at once would have cost more than the egress budget.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2},
		}),
		streams:       prometheus.NewDesc("xds_streams", "Open streams.", []string{"variant", "client"}, nil),
		subscriptions: prometheus.NewDesc("xds_subscriptions", "Resources that the open streams are subscribed to.", []string{"type"}, nil),
		rejected:      prometheus.NewDesc("xds_rejected", "Subscriptions whose last response the client rejected: it uses what it had before.", []string{"type"}, nil),
		resources:     prometheus.NewDesc("xds_resources", "Different resources that are kept for the open streams.", []string{"type"}, nil),
		lag:           prometheus.NewDesc("xds_lag_seconds", "For how long the oldest change has been known that is being sent.", nil, nil),
	}
	for typ := range resourceTypes {
		m.bytes[typ], m.responses[typ] = bytes.WithLabelValues(typ.String()), map[string]prometheus.Counter{}
		for _, variant := range []string{variantSotW, variantDelta} {
			m.responses[typ][variant] = responses.WithLabelValues(typ.String(), variant)
		}
	}
	for _, why := range refusals() {
		m.refused.WithLabelValues(string(why))
	}
	r.MustRegister(m, responses, bytes, m.nacks, m.refused, m.paced)
	return m
}

func (m *metrics) sent(typ resourceType, variant string, bytes int) {
	m.responses[typ][variant].Inc()
	m.bytes[typ].Add(float64(bytes))
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.streams, m.subscriptions, m.rejected, m.resources, m.lag} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	type series struct {
		variant string
		kind    clientKind
	}
	streams := map[series]int{}
	var subscriptions, rejected [resourceTypes]int
	var lag time.Duration
	now := time.Now()
	for _, s := range m.server.streams.All() {
		streams[series{s.variant, s.kind()}]++
		lag = max(lag, s.lag.At(now))
		all, _ := s.all()
		for _, sub := range all {
			subscriptions[sub.typ]++
			if sub.refused.Load() {
				rejected[sub.typ]++
			}
		}
	}
	for of, n := range streams {
		gauge(m.streams, float64(n), of.variant, string(of.kind))
	}
	resources := m.server.countViews()
	for typ := range resourceTypes {
		gauge(m.subscriptions, float64(subscriptions[typ]), typ.String())
		gauge(m.rejected, float64(rejected[typ]), typ.String())
		gauge(m.resources, float64(resources[typ]), typ.String())
	}
	gauge(m.lag, lag.Seconds())
}

// maxRejections limits the recorded rejections. If there are more, some may be logged again.
const maxRejections = 1_000

// Rates of lines of the log and Events about rejections: a second, and burst. Clients make up the
// reasons, and each Event is an object in the API server.
const (
	lineRate, lineBurst   = rate.Limit(1), 100
	eventRate, eventBurst = rate.Limit(1) / 10, 20
)

// rejections log each version that a kind of client rejects, and send an Event about it, once
// (§10.2).
type rejections struct {
	log           *slog.Logger
	report        func(catalog.ServiceKey, string) // nil to send no Events
	lines, events *rate.Limiter

	mu   sync.Mutex
	seen map[rejection]struct{}
}

func newRejections(log *slog.Logger, report func(catalog.ServiceKey, string)) rejections {
	return rejections{
		log: log, report: report, lines: rate.NewLimiter(lineRate, lineBurst), events: rate.NewLimiter(eventRate, eventBurst), seen: map[rejection]struct{}{},
	}
}

type rejection struct {
	typ           resourceType
	name, version string
	kind          clientKind
}

// record logs a rejection of a resource of a Service, unless it is known. The key is zero if there
// is no Service that the client may see.
func (rs *rejections) record(r rejection, of catalog.ServiceKey, why string) {
	if !rs.isNew(r) {
		return
	}
	if rs.lines.Allow() {
		rs.log.Warn("Client rejected a resource", "type", r.typ.String(), "name", sanitize.Cut(r.name), "version", r.version, "client", string(r.kind), "reason", sanitize.Cut(why))
	}
	if rs.report != nil && of.Name != "" && rs.events.Allow() {
		rs.report(of, fmt.Sprintf("A client (%s) rejected the %s of %s, version %s: %s", r.kind, r.typ.Kind(), sanitize.Cut(r.name), r.version, sanitize.Quote(why)))
	}
}

// isNew records a rejection. It returns false if the rejection was recorded before.
func (rs *rejections) isNew(r rejection) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if _, known := rs.seen[r]; known {
		return false
	}
	if len(rs.seen) == maxRejections {
		clear(rs.seen)
	}
	rs.seen[r] = struct{}{}
	return true
}
