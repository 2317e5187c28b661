package publisher

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/plan"
)

// Metrics are those of one publisher: the ones of ExternalDNS under their names (spec/dns.md
// §10), and some of our own that begin with signpost_dns.
type Metrics struct {
	lastReconcile, lastSync prometheus.Gauge
	consecutiveErrors       prometheus.Gauge
	noOps                   prometheus.Counter
	verifiedRecords         *prometheus.GaugeVec
	registryTotal           prometheus.Gauge
	registryRecords         *prometheus.GaugeVec
	registryErrors          prometheus.Counter
	mismatches              *prometheus.GaugeVec
	sourceTotal             prometheus.Gauge
	sourceRecords           *prometheus.GaugeVec
	sourceErrors            prometheus.Counter
	invalid, deduplicated   *prometheus.GaugeVec

	problems       prometheus.Counter
	sourceFailed   *prometheus.GaugeVec
	held, waiting  *prometheus.GaugeVec
	dirty          *prometheus.GaugeVec
	zoneFailed     *prometheus.GaugeVec
	providerFailed prometheus.Gauge
	applySeconds   *prometheus.HistogramVec

	// registry has what each zone has of each type; mismatched what was counted for each name.
	registry   map[zoneKey]map[string]int
	failures   map[zoneKey]int
	mismatched map[string][]prometheus.Labels
}

// NewMetrics returns metrics that the registerer, which may be nil, knows.
func NewMetrics(r prometheus.Registerer) *Metrics {
	if r == nil {
		r = prometheus.NewRegistry()
	}
	b := builder{r}
	return &Metrics{
		lastReconcile:     b.gauge("external_dns_controller_last_reconcile_timestamp_seconds", "When a zone was last looked at."),
		lastSync:          b.gauge("external_dns_controller_last_sync_timestamp_seconds", "When a zone was last found, or made, as it should be."),
		consecutiveErrors: b.gauge("external_dns_controller_consecutive_soft_errors", "Failures of the provider in a row."),
		noOps:             b.counter("external_dns_controller_no_op_runs_total", "Looks at a zone after which there was nothing to do."),
		verifiedRecords:   b.gauges("external_dns_controller_verified_records", "Record sets that objects ask for and that are in the zones, by type, at the last look at a zone.", "record_type"),
		registryTotal:     b.gauge("external_dns_registry_endpoints_total", "Record sets in the zones, without ownership records."),
		registryRecords:   b.gauges("external_dns_registry_records", "Record sets in the zones by type.", "record_type"),
		registryErrors:    b.counter("external_dns_registry_errors_total", "Failures to read or to change a zone."),
		mismatches: b.gauges("external_dns_registry_skipped_records_owner_mismatch_per_sync",
			"Record sets that keep us from changing a name because somebody else owns them.", "record_type", "owner", "foreign_owner", "domain"),
		sourceTotal:    b.gauge("external_dns_source_endpoints_total", "Record sets that objects ask for."),
		sourceRecords:  b.gauges("external_dns_source_records", "Record sets that objects ask for by type.", "record_type"),
		sourceErrors:   b.counter("external_dns_source_errors_total", "Failures to read a source or to evaluate an object."),
		invalid:        b.gauges("external_dns_source_invalid_endpoints", "Record sets asked for that are not valid.", "record_type", "source_type"),
		deduplicated:   b.gauges("external_dns_source_deduplicated_endpoints", "Record sets that several objects ask for alike.", "record_type", "source_type"),
		problems:       b.counter("signpost_dns_object_problems_total", "Parts of objects that can't be used."),
		sourceFailed:   b.gauges("signpost_dns_source_failing", "1 while a source can't be read; what it said before stays.", "source"),
		held:           b.gauges("signpost_dns_deletions_held", "Deletions that wait because they are more than the budget allows.", "zone"),
		waiting:        b.gauges("signpost_dns_names_failing", "Names whose changes failed and are tried again later.", "zone"),
		dirty:          b.gauges("signpost_dns_names_pending", "Names that wait to be planned or changed.", "zone"),
		providerFailed: b.gauge("signpost_dns_provider_failing", "1 while the zones can't be listed."),
		zoneFailed:     b.gauges("signpost_dns_zone_failing", "1 while a zone can't be read or changed.", "zone"),
		applySeconds: b.histograms("signpost_dns_apply_duration_seconds", "How long the provider took for a batch of changes.",
			"zone", "result"),
		registry: map[zoneKey]map[string]int{}, failures: map[zoneKey]int{}, mismatched: map[string][]prometheus.Labels{},
	}
}

// builder makes metrics and registers them.
type builder struct{ r prometheus.Registerer }

func (b builder) gauge(name, help string) prometheus.Gauge {
	m := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	b.r.MustRegister(m)
	return m
}

func (b builder) counter(name, help string) prometheus.Counter {
	m := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	b.r.MustRegister(m)
	return m
}

func (b builder) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	m := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	b.r.MustRegister(m)
	return m
}

func (b builder) histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	m := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}, labels)
	b.r.MustRegister(m)
	return m
}

// sourceRead shows whether a source could be read: err is nil, or why it couldn't.
func (m *Metrics) sourceRead(name string, err error) {
	m.sourceFailed.WithLabelValues(name).Set(number(err != nil))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// desired shows what the objects ask for.
func (m *Metrics) desired(s *desired.Set) {
	stats := s.Stats()
	total := 0
	m.sourceRecords.Reset()
	for recordType, n := range stats.Records {
		m.sourceRecords.WithLabelValues(strings.ToLower(recordType)).Set(float64(n))
		total += n
	}
	m.sourceTotal.Set(float64(total))
	m.invalid.Reset()
	for k, n := range stats.Invalid {
		m.invalid.WithLabelValues(strings.ToLower(k.Type), strings.ToLower(k.Source)).Set(float64(n))
	}
	m.deduplicated.Reset()
	for k, n := range stats.Deduplicated {
		m.deduplicated.WithLabelValues(strings.ToLower(k.Type), strings.ToLower(k.Source)).Set(float64(n))
	}
}

// zone shows how a zone stands.
func (m *Metrics) zone(z *zone) {
	m.dirty.WithLabelValues(z.Name).Set(float64(len(z.dirty) + len(z.queue.groups)))
	m.waiting.WithLabelValues(z.Name).Set(float64(len(z.jail)))
	m.zoneFailed.WithLabelValues(z.Name).Set(number(z.reading.err != nil || z.writing.err != nil))
	held := 0
	if z.budget.held != "" {
		held = z.budget.planned()
	}
	m.held.WithLabelValues(z.Name).Set(float64(held))
	m.fail(keyOf(z.Zone), z.reading.failures+z.writing.failures)
	m.count(z)
}

func (m *Metrics) verified(counts map[string]int) {
	m.verifiedRecords.Reset()
	for recordType, n := range counts {
		m.verifiedRecords.WithLabelValues(strings.ToLower(recordType)).Set(float64(n))
	}
}

// zoneList shows whether the zones can be listed.
func (m *Metrics) zoneList(l *zoneList) {
	m.providerFailed.Set(number(l.err != nil))
	m.fail(zoneKey{}, l.failures)
}

// fail shows how many failures there were in a row, of all zones and of listing them.
func (m *Metrics) fail(k zoneKey, failures int) {
	m.failures[k] = failures
	sum := 0
	for _, n := range m.failures {
		sum += n
	}
	m.consecutiveErrors.Set(float64(sum))
}

// count shows how many record sets the zones have.
func (m *Metrics) count(z *zone) {
	counts := map[string]int{}
	for recordType, n := range z.mirror.records {
		counts[recordType] = n
	}
	m.registry[keyOf(z.Zone)] = counts
	sums, total := map[string]int{}, 0
	for _, counts := range m.registry {
		for recordType, n := range counts {
			sums[recordType] += n
			total += n
		}
	}
	for recordType, n := range sums {
		m.registryRecords.WithLabelValues(strings.ToLower(recordType)).Set(float64(n))
	}
	m.registryTotal.Set(float64(total))
}

// conflicts shows who keeps a name from us.
func (m *Metrics) conflicts(name string, found []plan.Conflict, owner string) {
	for _, labels := range m.mismatched[name] {
		m.mismatches.With(labels).Dec()
	}
	delete(m.mismatched, name)
	for _, c := range found {
		labels := prometheus.Labels{
			"record_type": strings.ToLower(c.Current.Type), "owner": strings.ToLower(owner),
			"foreign_owner": strings.ToLower(c.ForeignOwner()), "domain": strings.ToLower(dns.ParentDomain(name)),
		}
		m.mismatches.With(labels).Inc()
		m.mismatched[name] = append(m.mismatched[name], labels)
	}
}

func (m *Metrics) applied(z *zone, took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.applySeconds.WithLabelValues(z.Name, result).Observe(took.Seconds())
}
