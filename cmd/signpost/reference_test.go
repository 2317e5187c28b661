package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/internal/report"
)

//go:generate go test . -run ^TestReferenceOfSettings$ -update

const referenceFile = "../../docs/destination.md"

// The lines around the table of settings.
const (
	generatedBegin = "<!-- Between these two lines everything is generated: go generate ./cmd/signpost -->\n"
	generatedEnd   = "<!-- end -->\n"
)

// TestReferenceOfSettings compares the table of settings in the reference with the
// settings; -update rewrites it.
func TestReferenceOfSettings(t *testing.T) {
	text := readReference(t)
	before, rest, begun := strings.Cut(text, generatedBegin)
	old, after, ended := strings.Cut(rest, generatedEnd)
	if !begun || !ended {
		t.Fatalf("%s has no generated part: it is between %q and %q", referenceFile, generatedBegin, generatedEnd)
	}
	want := settingsTable()
	if *update {
		if err := os.WriteFile(referenceFile, []byte(before+generatedBegin+want+generatedEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, old); diff != "" {
		t.Errorf("%s is stale: run go generate ./cmd/signpost (-settings +reference):\n%s", referenceFile, diff)
	}
}

func readReference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func settingsTable() string {
	var table strings.Builder
	table.WriteString("\n| Flag | In the config file | Default | Meaning |\n| --- | --- | --- | --- |\n")
	o := defaultDestinationOptions()
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for _, s := range o.settings() {
		preset := s.value.String()
		if preset != "" {
			preset = "`" + preset + "`"
		}
		_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: s.usage, Value: s.value})
		fmt.Fprintf(&table, "| `--%s` | `%s` | %s | %s |\n", s.flag, s.path, preset, cell.Replace(usage))
	}
	table.WriteString("\n")
	return table.String()
}

var (
	// metricRow is the first cell of a row about metrics; metricName is one of them.
	metricRow  = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|")
	metricName = regexp.MustCompile("`([a-z_]+)`")
	// described is the name in the text of a prometheus.Desc.
	described = regexp.MustCompile(`fqName: "([a-z_]+)"`)
	// others are metrics that the reference doesn't list one by one.
	others = regexp.MustCompile(`^(go|process|promhttp)_`)
)

// The table of metrics in the reference has those that are registered, and no others.
func TestReferenceOfMetrics(t *testing.T) {
	_, section, _ := strings.Cut(readReference(t), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range metricRow.FindAllStringSubmatch(section, -1) {
		for _, name := range metricName.FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, name[1])
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(registeredMetrics(t), listed); diff != "" {
		t.Errorf("metrics in %s (-registered +listed):\n%s", referenceFile, diff)
	}
}

// unreachable is a kubeconfig of an API server that nobody runs.
const unreachable = `{apiVersion: v1, kind: Config, current-context: a,
  clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}]}`

// registeredMetrics returns the names of the metrics of the destination role.
func registeredMetrics(t *testing.T) []string {
	t.Helper()
	o := defaultDestinationOptions().settled()
	o.Process.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(o.Process.Kubeconfig, []byte(unreachable), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	registry := prometheus.NewRegistry()
	reporter, err := report.New(report.Config{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newDestinationRole(roleInput{Options: o, Log: log, Registerer: registry, Report: reporter.Report})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newGRPCActor(r, serving{options: o, log: log, registry: registry}, nil); err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		registry.Describe(descs)
	}()
	var names []string
	for d := range descs {
		if name := described.FindStringSubmatch(d.String())[1]; !others.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
