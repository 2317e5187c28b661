package xds

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/sanitize"
)

// metrics are those of §10.1. Those of streams are computed from the open streams.
type metrics struct {
	server                           *Server
	responses, bytes, nacks, refused *prometheus.CounterVec
	paced                            prometheus.Histogram
}

func newMetrics(s *Server, r prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		server:    s,
		responses: counter("xds_responses_total", "Responses that were sent.", "type", "variant"),
		bytes:     counter("xds_sent_bytes_total", "Bytes of the responses that were sent.", "type"),
		nacks:     counter("xds_nacks_total", "Responses that clients rejected, by their kind. The log has each rejected version once.", "type", "client"),
		refused: clientlimits.NewRefusedCounter("xds_refused_total",
			"What clients sent or asked for that a limit refused, by the limit. Of a node, what is too long is ignored.",
			refusedUnsynced, refusedName, refusedNames, refusedInitialVersions, refusedNode, refusedIdentity, refusedClusters, refusedNamespaces, refusedSubscriptions),
		paced: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "xds_paced_seconds",
			Help:    "For how long changes of endpoints were held back because sending them at once would have cost more than the egress budget.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2},
		}),
	}
	for typ := range resourceTypes {
		m.bytes.WithLabelValues(typ.String())
		for _, variant := range []string{variantSotW, variantDelta} {
			m.responses.WithLabelValues(typ.String(), variant)
		}
	}
	r.MustRegister(m, m.responses, m.bytes, m.nacks, m.refused, m.paced, s.connections.UnreadGauge("xds_unread_bytes"))
	return m
}

// gauges returns the empty metrics of the open streams.
func gauges() (all []*prometheus.GaugeVec) {
	for _, g := range [][]string{
		{"xds_streams", "Open streams.", "variant", "client"},
		{"xds_subscriptions", "Resources that the open streams are subscribed to.", "type"},
		{"xds_rejected", "Subscriptions whose last response the client rejected: it uses what it had before.", "type"},
		{"xds_resources", "Different resources that are kept for the open streams.", "type"},
		{"xds_lag_seconds", "For how long the oldest change has been known that is being sent."},
	} {
		all = append(all, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: g[0], Help: g[1]}, g[2:]))
	}
	return all
}

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range gauges() {
		v.Describe(ch)
	}
}

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	all := gauges()
	streams, subscriptions, rejected, resources, lag := all[0], all[1], all[2], all[3], all[4]
	var subscribed, refused, views [resourceTypes]float64
	var oldest time.Duration
	now := time.Now()
	for _, s := range m.server.streams.All() {
		streams.WithLabelValues(s.variant, s.kind()).Inc()
		oldest = max(oldest, s.lag.At(now))
		list, _ := s.all()
		for _, sub := range list {
			subscribed[sub.typ]++
			if sub.refused.Load() {
				refused[sub.typ]++
			}
		}
	}
	lag.WithLabelValues().Set(oldest.Seconds())
	m.server.topics.Each(func(t *topic) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for key := range t.views {
			views[key.typ]++
		}
	})
	for typ := range resourceTypes {
		subscriptions.WithLabelValues(typ.String()).Set(subscribed[typ])
		rejected.WithLabelValues(typ.String()).Set(refused[typ])
		resources.WithLabelValues(typ.String()).Set(views[typ])
	}
	for _, v := range all {
		v.Collect(ch)
	}
}

// maxRejections limits the recorded rejections. If there are more, some may be logged again.
const maxRejections = 1_000

// Limits of log lines and Events about rejections a second, and bursts: clients make up the reasons.
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

type rejection struct {
	typ           resourceType
	name, version string
	kind          string
}

// record logs a rejection of a resource of a Service, unless it is known. The key is zero if there
// is no Service that the client may see.
func (rs *rejections) record(r rejection, of catalog.ServiceKey, why string) {
	if !rs.isNew(r) {
		return
	}
	if rs.lines.Allow() {
		rs.log.Warn("Client rejected a resource", "type", r.typ.String(), "name", sanitize.Cut(r.name), "version", r.version, "client", r.kind, "reason", sanitize.Cut(why))
	}
	if rs.report != nil && of.Name != "" && rs.events.Allow() {
		rs.report(of, fmt.Sprintf("A client (%s) rejected the %s of %s, version %s: %s", r.kind, r.typ.Kind(), sanitize.Cut(r.name), r.version, sanitize.Quote(why)))
	}
}

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
