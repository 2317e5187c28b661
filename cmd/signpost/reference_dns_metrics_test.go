package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/internal/process"
	"github.com/signpostd/signpost/internal/report"
	"github.com/signpostd/signpost/internal/settings"
)

// kubeconfigOfNobody returns the path of a kubeconfig of an API server that nobody runs.
func kubeconfigOfNobody(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: a,
  clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ofLibraries are the metrics of the runtime and of the metrics handler.
var ofLibraries = regexp.MustCompile(`^(go|process|promhttp)_`)

// describeMetrics describes what the role registers with all sources and a lease.
func describeMetrics(t *testing.T) (string, error) {
	c := settings.NewDNSFlags()
	for _, p := range plugins.Sources() {
		c.Publisher.Sources = append(c.Publisher.Sources, p.Name)
	}
	// The only provider that has metrics.
	c.Publisher.Providers, c.Publisher.Policy = []string{"webhook"}, "sync"
	c.Config.DNS.Leader.Elect = true
	c.Config.Process.Kubeconfig = kubeconfigOfNobody(t)
	registry := prometheus.NewRegistry()
	known := &knownMetrics{Registerer: registry, rows: map[string][]string{}}
	reporter, err := report.New(report.Config{Registerer: known})
	if err != nil {
		return "", err
	}
	if _, err := process.New(t.Context(), c.Config, slog.New(slog.DiscardHandler), known, reporter.Report); err != nil {
		return "", err
	}
	families, err := registry.Gather()
	if err != nil {
		return "", err
	}
	for _, f := range families {
		if row := known.rows[f.GetName()]; row != nil {
			row[1] = strings.ToLower(f.GetType().String())
		}
	}
	rows := [][]string{{"Name", "Type", "Labels", "Help"}}
	for _, name := range slices.Sorted(maps.Keys(known.rows)) {
		if known.rows[name][1] == "" {
			return "", fmt.Errorf("metric %s: has no sample, and is no vector, so that its type isn't known", name)
		}
		rows = append(rows, known.rows[name])
	}
	return "With several publishers, those of each have the label `publisher` too. Also those of the Go runtime, the process and the metrics handler.\n\n" +
		paddedTable(rows), errors.Join(known.errs...)
}

// knownMetrics is a registerer that describes what it registers.
type knownMetrics struct {
	prometheus.Registerer
	rows map[string][]string
	errs []error
}

// Register implements prometheus.Registerer.
func (k *knownMetrics) Register(c prometheus.Collector) error {
	if err := k.Registerer.Register(c); err != nil {
		return err
	}
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)
	for d := range descs {
		k.add(d, c)
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (k *knownMetrics) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		k.errs = append(k.errs, k.Register(c))
	}
}

// descParts are name, help, constant and variable labels in the text of a prometheus.Desc.
var descParts = regexp.MustCompile(`^Desc\{fqName: "(.*)", help: (".*"), constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

func (k *knownMetrics) add(d *prometheus.Desc, c prometheus.Collector) {
	parts := descParts.FindStringSubmatch(d.String())
	if parts == nil || ofLibraries.MatchString(parts[1]) {
		return
	}
	help, err := strconv.Unquote(parts[2])
	k.errs = append(k.errs, err)
	var labels []string
	for label := range strings.FieldsFuncSeq(parts[3]+","+parts[4], func(r rune) bool { return r == ',' }) {
		name, _, _ := strings.Cut(label, "=")
		labels = append(labels, name)
	}
	k.rows[parts[1]] = []string{"`" + parts[1] + "`", vectorType(c), strings.Join(labels, ", "), help}
}

// vectorType returns the type of the metrics in a vector, which has no sample before
// anything was counted; empty for any other collector.
func vectorType(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.HistogramVec:
		return "histogram"
	case *prometheus.SummaryVec:
		return "summary"
	default:
		return ""
	}
}
