package process

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/app/admin"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/golden"
	"github.com/signpostd/signpost/internal/report"
)

// metricsPage is the page about the metrics of all roles, up to the table.
const metricsPage = `# Metrics

<!-- This file is generated, do not edit it: go test ./app/process -run Reference -update -->

A process serves its metrics under ` + "`/metrics`" + ` on the address ` + "`admin.address`" + `, 9996 unless it is set, or 7979 with the flags of ` + "`signpost dns`" + `. This page lists
those of all roles; a process has those of the roles that it runs, and the metrics of the Go runtime, of the process and of the metrics handler.
[destination](destination.md#metrics), [controllers](controllers.md#metrics) and [xds](xds.md#metrics) say more about theirs. [Alerts](../deploy/observe/alerts.yaml) and
[dashboards](../deploy/observe/dashboards) query them, and each alert has a [runbook](runbooks/README.md).

With several publishers, the metrics of each have another label, ` + "`publisher`" + `. Where Prometheus adds a label that a metric has itself, such as ` + "`namespace`" + `, that of
the metric is called ` + "`exported_namespace`" + `.

`

// TestReferenceOfAllMetrics compares docs/metrics.md with what the roles register; -update rewrites the page.
func TestReferenceOfAllMetrics(t *testing.T) {
	configs := map[string]settings.Config{"dns": everyDNSSource()}
	for _, r := range referencePages {
		c := r.config()
		configs[strings.Join(c.Roles(), ",")] = c
	}
	all, roles := map[string][]string{}, map[string][]string{}
	for _, role := range slices.Sorted(maps.Keys(configs)) {
		rows, err := registeredRows(t, configs[role])
		if err != nil {
			t.Fatal(err)
		}
		for name, row := range rows {
			all[name], roles[name] = row, append(roles[name], role)
		}
	}
	rows := [][]string{{"Name", "Type", "Labels", "Roles", "Help"}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row := all[name]
		rows = append(rows, []string{row[0], row[1], row[2], strings.Join(roles[name], ", "), row[3]})
	}
	golden.File(t, "../../docs/metrics.md", metricsPage+golden.Table(rows))
}

// withoutSamples are the types of metrics whose collectors have no sample before something happens.
var withoutSamples = map[string]string{
	"linked_cluster_state": "gauge", "linked_cluster_state_age_seconds": "gauge", "linked_cluster_objects": "gauge",
	"linked_cluster_credentials_pending": "gauge", "linked_cluster_secret_unusable": "gauge",
	"endpoints_subscribers": "gauge", "endpoints_updates": "counter", "endpoints_pods": "gauge", "endpoints_exists": "gauge",
	"profile_subscribers": "gauge", "profile_updates": "counter", "service_subscribers": "gauge",
	"endpoint_updates_queue_overflow": "counter", "profile_updates_queue_overflow": "counter",
	"http_server_panics_total": "counter",
	"xds_streams":              "gauge",
}

// registeredRows returns what a process with this config registers: for each name the cells name,
// type, labels and help.
func registeredRows(t *testing.T, c settings.Config) (map[string][]string, error) {
	t.Helper()
	withoutAPIServer(t, &c)
	registry := prometheus.NewRegistry()
	known := &knownMetrics{Registerer: registry, rows: map[string][]string{}}
	reporter, err := report.New(report.Config{Registerer: known})
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	p, err := newProcess(t.Context(), c, log, known, reporter.Report, reporter.Fixed)
	if err != nil {
		return nil, err
	}
	registerServers(p, serving{options: c.Process, log: log, registry: registry})
	if _, err := admin.NewPanics(registry, log); err != nil {
		return nil, err
	}
	known.addOthers(registry)
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		if row := known.rows[f.GetName()]; row != nil {
			row[1] = strings.ToLower(f.GetType().String())
		}
	}
	for name, row := range known.rows {
		if row[1] == "" {
			row[1] = withoutSamples[name]
		}
		if row[1] == "" {
			known.errs = append(known.errs, fmt.Errorf("metric %s: it has no sample and is no vector, so that nothing says its type: add it to withoutSamples", name))
		}
	}
	return known.rows, errors.Join(known.errs...)
}

// addOthers adds what was registered without the known metrics.
func (k *knownMetrics) addOthers(registry *prometheus.Registry) {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		registry.Describe(descs)
	}()
	for d := range descs {
		if parts := descParts.FindStringSubmatch(d.String()); parts != nil && k.rows[parts[1]] == nil {
			k.add(d, nil)
		}
	}
}
