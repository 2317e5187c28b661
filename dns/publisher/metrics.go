package publisher

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/tenancy"
)

// Metrics are the metrics of one publisher: those of ExternalDNS under their names (spec/dns.md
// §10), and others with the prefix signpost_dns.
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
	repeating      *prometheus.GaugeVec
	reasserted     prometheus.Counter
	dirty          *prometheus.GaugeVec
	zoneFailed     *prometheus.GaugeVec
	providerFailed prometheus.Gauge
	throttledUntil prometheus.Gauge
	storeFailed    prometheus.Gauge
	otherInstances *prometheus.GaugeVec
	applySeconds   *prometheus.HistogramVec
	panics         *prometheus.CounterVec
	refused        *prometheus.GaugeVec

	// mismatched has the labels of the conflicts of each name of a zone.
	mismatched map[dns.ZoneKey]map[string][]prometheus.Labels
}

// NewMetrics creates metrics and registers them. The registerer may be nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	b := builder{promauto.With(r)}
	return &Metrics{
		lastReconcile:     b.gauge("external_dns_controller_last_reconcile_timestamp_seconds", "When a zone was last read, or was found to need no reading."),
		lastSync:          b.gauge("external_dns_controller_last_sync_timestamp_seconds", "When a zone was last known to have all records that are asked for."),
		consecutiveErrors: b.gauge("external_dns_controller_consecutive_soft_errors", "Failures of the provider in a row."),
		noOps:             b.counter("external_dns_controller_no_op_runs_total", "Readings of a zone after which there was nothing to change."),
		verifiedRecords:   b.gauges("external_dns_controller_verified_records", "Record sets that objects ask for and that the zones have, by type, when a zone was last read.", "record_type"),
		registryTotal:     b.gauge("external_dns_registry_endpoints_total", "Record sets in the zones, without ownership records."),
		registryRecords:   b.gauges("external_dns_registry_records", "Record sets in the zones by type.", "record_type"),
		registryErrors:    b.counter("external_dns_registry_errors_total", "Failures to read or to change a zone."),
		mismatches: b.gauges("external_dns_registry_skipped_records_owner_mismatch_per_sync",
			"Record sets that keep us from changing a name because somebody else owns them.", "record_type", "owner", "foreign_owner", "domain"),
		sourceTotal:    b.gauge("external_dns_source_endpoints_total", "Record sets that objects ask for."),
		sourceRecords:  b.gauges("external_dns_source_records", "Record sets that objects ask for by type.", "record_type"),
		sourceErrors:   b.counter("external_dns_source_errors_total", "Failures to read a source or to evaluate an object."),
		invalid:        b.gauges("external_dns_source_invalid_endpoints", "Record sets asked for that are not valid.", "record_type", "source_type"),
		deduplicated:   b.gauges("external_dns_source_deduplicated_endpoints", "Record sets that were dropped because another object asks for the same.", "record_type", "source_type"),
		problems:       b.counter("signpost_dns_object_problems_total", "Parts of objects that can't be used."),
		sourceFailed:   b.gauges("signpost_dns_source_failing", "1 while a source can't be read; its records stay unchanged.", "source"),
		held:           b.gauges("signpost_dns_deletions_held", "Deletions and updates that wait because they are more than the budget allows.", "zone", "id"),
		waiting:        b.gauges("signpost_dns_names_failing", "Names whose changes failed and are tried again later.", "zone", "id"),
		repeating:      b.gauges("signpost_dns_names_repeating", "Names whose changes were made or refused three times in a row, and are still needed; they are tried less and less often.", "zone", "id"),
		reasserted:     b.counter("signpost_dns_names_reasserted_total", "Names that were written again unchanged, because the provider can't list what it has."),
		dirty:          b.gauges("signpost_dns_names_pending", "Names that wait to be planned or changed.", "zone", "id"),
		providerFailed: b.gauge("signpost_dns_provider_failing", "1 while the zones can't be listed."),
		throttledUntil: b.gauge("signpost_dns_provider_throttled_until_timestamp_seconds", "When the last pause ends that began because the provider throttled requests; 0 if it never did."),
		storeFailed:    b.gauge("signpost_dns_budget_store_failing", "1 while what was deleted and approved can't be loaded or stored."),
		otherInstances: b.gauges("signpost_dns_other_instance_records", "Record sets of another process that has our owner ID.", "zone", "id"),
		zoneFailed:     b.gauges("signpost_dns_zone_failing", "1 while a zone can't be read or changed.", "zone", "id"),
		applySeconds: b.NewHistogramVec(prometheus.HistogramOpts{
			Name: "signpost_dns_apply_duration_seconds", Help: "How long the provider took for a batch of changes.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"zone", "id", "result"}),
		panics: b.NewCounterVec(prometheus.CounterOpts{
			Name: "signpost_dns_panics_total",
			Help: "Objects that could not be evaluated, and calls of the provider that failed, because of a mistake in the code. The log has the stack.",
		}, []string{"plugin"}),
		refused:    b.gauges("signpost_dns_names_refused", "Names that a namespace asks for and doesn't get, by reason: NameTaken, TooManyNames and NameNotAllowed, which counts record sets.", "reason"),
		mismatched: map[dns.ZoneKey]map[string][]prometheus.Labels{},
	}
}

// builder creates and registers metrics.
type builder struct{ promauto.Factory }

func (b builder) gauge(name, help string) prometheus.Gauge {
	return b.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func (b builder) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return b.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func (b builder) counter(name, help string) prometheus.Counter {
	return b.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// sourceRead sets whether a source can be read. err says why not, or is nil.
func (m *Metrics) sourceRead(name string, err error) {
	m.sourceFailed.WithLabelValues(name).Set(number(err != nil))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// desired sets the metrics of the wanted record sets.
func (m *Metrics) desired(s *desired.Set) {
	stats := s.Stats()
	total := 0
	for _, n := range stats.Records {
		total += n
	}
	setByType(m.sourceRecords, stats.Records)
	m.sourceTotal.Set(float64(total))
	m.refused.WithLabelValues(string(tenancy.NotAllowed)).Set(float64(stats.NotAllowed))
	m.invalid.Reset()
	for k, n := range stats.Invalid {
		m.invalid.WithLabelValues(strings.ToLower(k.Type), strings.ToLower(k.Source)).Set(float64(n))
	}
	m.deduplicated.Reset()
	for k, n := range stats.Deduplicated {
		m.deduplicated.WithLabelValues(strings.ToLower(k.Type), strings.ToLower(k.Source)).Set(float64(n))
	}
}

func (m *Metrics) zone(z *zone) {
	m.dirty.WithLabelValues(z.Name, z.ID).Set(float64(z.names.count(dirty, asking, planned)))
	m.waiting.WithLabelValues(z.Name, z.ID).Set(float64(z.names.failing))
	m.repeating.WithLabelValues(z.Name, z.ID).Set(float64(z.names.repeated))
	m.zoneFailed.WithLabelValues(z.Name, z.ID).Set(number(z.failed()))
	m.held.WithLabelValues(z.Name, z.ID).Set(float64(z.ledger.Held()))
	m.otherInstances.WithLabelValues(z.Name, z.ID).Set(float64(z.mirror.otherInstances))
}

// totals sets the metrics of all zones together, and of listing the zones.
func (m *Metrics) totals(zones map[dns.ZoneKey]*zone, l *zoneList) {
	failures, taken, tooMany, sets := l.failures, 0, 0, 0
	records := map[string]int{}
	for _, z := range zones {
		failures += z.reading.failures + z.writing.failures
		taken += len(z.refused)
		tooMany += z.shares.refused()
		for recordType, n := range z.mirror.records {
			records[recordType] += n
			sets += n
		}
	}
	m.providerFailed.Set(number(l.err != nil))
	m.consecutiveErrors.Set(float64(failures))
	m.refused.WithLabelValues(string(tenancy.Taken)).Set(float64(taken))
	m.refused.WithLabelValues(string(tenancy.TooMany)).Set(float64(tooMany))
	setByType(m.registryRecords, records)
	m.registryTotal.Set(float64(sets))
}

// setByType replaces the values of a metric with the label record_type.
func setByType(m *prometheus.GaugeVec, counts map[string]int) {
	m.Reset()
	for recordType, n := range counts {
		m.WithLabelValues(strings.ToLower(recordType)).Set(float64(n))
	}
}

// forget deletes the metrics of a removed zone.
func (m *Metrics) forget(z *zone) {
	for _, of := range []*prometheus.GaugeVec{m.dirty, m.waiting, m.repeating, m.zoneFailed, m.held, m.otherInstances} {
		of.DeleteLabelValues(z.Name, z.ID)
	}
	m.applySeconds.DeletePartialMatch(prometheus.Labels{"zone": z.Name, "id": z.ID})
	for name := range m.mismatched[z.Zone.Key()] {
		m.conflicts(z, name, nil, "")
	}
}

// end deletes the metrics of zones, because this process doesn't write them any more.
func (m *Metrics) end(zones map[dns.ZoneKey]*zone) {
	for _, z := range zones {
		m.forget(z)
	}
	m.totals(nil, &zoneList{})
	m.verifiedRecords.Reset()
}

// conflicts counts the record sets of other owners that block a name of a zone.
func (m *Metrics) conflicts(z *zone, name string, found []plan.Conflict, owner string) {
	k := z.Zone.Key()
	for _, labels := range m.mismatched[k][name] {
		m.mismatches.With(labels).Dec()
	}
	delete(m.mismatched[k], name)
	for _, c := range found {
		labels := prometheus.Labels{
			"record_type": strings.ToLower(c.Current.Type), "owner": strings.ToLower(owner),
			"foreign_owner": strings.ToLower(c.OtherOwner()), "domain": strings.ToLower(dns.ParentDomain(name)),
		}
		m.mismatches.With(labels).Inc()
		if m.mismatched[k] == nil {
			m.mismatched[k] = map[string][]prometheus.Labels{}
		}
		m.mismatched[k][name] = append(m.mismatched[k][name], labels)
	}
}

func (m *Metrics) applied(z *zone, took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.applySeconds.WithLabelValues(z.Name, z.ID, result).Observe(took.Seconds())
}
