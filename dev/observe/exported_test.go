package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// notScraped has what the process of the test doesn't export, and why.
var notScraped = map[string]string{
	"up": "Prometheus makes it for each target",
	"external_dns_http_request_duration_seconds_count": "only providers that are asked over HTTP have it; docs/metrics.md, which is made of what is registered, lists it",
	"endpoint_updates_queue_overflow":                  "a series begins when a client is 16 updates behind; docs/metrics.md lists it",
	"profile_updates_queue_overflow":                   "a series begins when a client skips a profile; docs/metrics.md lists it",
	"xds_nacks_total":                                  "a series begins when a client rejects something; docs/metrics.md lists it",
	"xds_streams":                                      "a series begins with the first xDS client; docs/metrics.md lists it",
}

// addedLabels are those that a PodMonitor, a publisher in a config file and histograms add.
var addedLabels = []string{"job", "instance", "namespace", "pod"}

// A use is a metric with the labels that a query wants of it.
type use struct {
	where, metric string
	labels        []string
}

// labelValues matches the query of a variable: a selector and a label.
var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// uses returns what all alerts and dashboards use, and the pages about alerts.
func uses(t *testing.T) []use {
	t.Helper()
	var all []use
	for _, a := range allAlerts(t) {
		all = append(all, usesOf(t, a.Alert, a.Expr)...)
		text, err := os.ReadFile(filepath.Join(root, "docs/runbooks", runbookOf(a)))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range promqlBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				all = append(all, usesOf(t, runbookOf(a), line)...)
			}
		}
	}
	for _, d := range Dashboards() {
		all = append(all, usesOf(t, d.Name+": new leaders", d.PromQL(Query{Expr: leaderChanges}))...)
		for _, v := range d.variables() {
			if parts := labelValues.FindStringSubmatch(fmt.Sprint(v["definition"])); parts != nil {
				for _, u := range usesOf(t, d.Name+": a variable", parts[1]) {
					u.labels = append(u.labels, parts[2])
					all = append(all, u)
				}
			}
		}
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					all = append(all, usesOf(t, d.Name+": "+p.Title, strings.ReplaceAll(d.PromQL(q), "$__rate_interval", "5m"))...)
				}
			}
		}
	}
	return all
}

// usesOf returns the metrics of a query. A label that groups belongs to all of them.
func usesOf(t *testing.T, where, query string) []use {
	t.Helper()
	expr, err := promql.ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %s: %v", where, query, err)
		return nil
	}
	var found []use
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		u := use{where: where, metric: selector.Name}
		for _, m := range selector.LabelMatchers {
			if m.Name != "__name__" && !(m.Name == "publisher" && m.Matches("")) {
				u.labels = append(u.labels, m.Name)
			}
		}
		for _, outer := range path {
			if a, ok := outer.(*parser.AggregateExpr); ok && !a.Without {
				u.labels = append(u.labels, a.Grouping...)
			}
		}
		found = append(found, u)
		return nil
	})
	return found
}

// exported fails the test unless the processes export each metric that is used, with each label.
func exported(t *testing.T, samples []sample) {
	t.Helper()
	have := map[string]map[string]bool{}
	for _, s := range samples {
		name := s.labels.Get("__name__")
		if have[name] == nil {
			have[name] = map[string]bool{}
		}
		for label := range s.labels.Map() {
			have[name][label] = true
		}
	}
	used := uses(t)
	if len(used) < 100 {
		t.Errorf("only %d uses of metrics are found", len(used))
	}
	for _, u := range used {
		if notScraped[u.metric] != "" {
			continue
		}
		if have[u.metric] == nil {
			t.Errorf("%s: no process exports %s", u.where, u.metric)
			continue
		}
		for _, label := range u.labels {
			if !have[u.metric][label] && !slices.Contains(addedLabels, label) {
				t.Errorf("%s: %s has no label %s", u.where, u.metric, label)
			}
		}
	}
}

// What isn't scraped is needed, and is among the metrics that docs/metrics.md lists.
func TestNotScraped(t *testing.T) {
	reference, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	used := uses(t)
	for metric := range notScraped {
		i := slices.IndexFunc(used, func(u use) bool { return u.metric == metric })
		if i < 0 {
			t.Errorf("nothing uses %s", metric)
			continue
		}
		if metric == "up" {
			continue
		}
		_, row, found := strings.Cut(string(reference), "| `"+strings.TrimSuffix(metric, "_count")+"`")
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Errorf("docs/metrics.md has no %s", metric)
		}
		for _, u := range used {
			for _, label := range u.labels {
				if u.metric == metric && !slices.Contains(addedLabels, label) && !strings.Contains(row, label) {
					t.Errorf("%s: %s has no label %s", u.where, metric, label)
				}
			}
		}
	}
}
