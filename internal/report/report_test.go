package report_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The method of a Reporter is an objectmeta.Report.
var _ objectmeta.Report = (*report.Reporter)(nil).Report

func problem(name, field string) objectmeta.Problem {
	return objectmeta.Problem{Kind: "EndpointSlice", Namespace: "emoji", Name: name, Field: field, Reason: "not an IP address"}
}

func TestReport(t *testing.T) {
	web, api, port := problem("web", "endpoints[0]"), problem("api", "endpoints[0]"), problem("web", "ports[0]")
	server := objectmeta.Problem{Kind: "Server", Namespace: "emoji", Name: "web", Field: "spec.port", Reason: "is missing"}
	other := web
	other.Reason = "a loopback address"
	tests := map[string]struct {
		capacity int
		met      []objectmeta.Problem
		logged   []string
		counts   map[string]float64
	}{
		"none":      {},
		"once":      {met: []objectmeta.Problem{web}, logged: []string{"web endpoints[0]"}, counts: map[string]float64{"EndpointSlice": 1}},
		"repeated":  {met: []objectmeta.Problem{web, web, web}, logged: []string{"web endpoints[0]"}, counts: map[string]float64{"EndpointSlice": 1}},
		"distinct":  {met: []objectmeta.Problem{web, api, port, other, web}, logged: []string{"web endpoints[0]", "api endpoints[0]", "web ports[0]", "web endpoints[0]"}, counts: map[string]float64{"EndpointSlice": 4}},
		"two kinds": {met: []objectmeta.Problem{web, server, server}, logged: []string{"web endpoints[0]", "web spec.port"}, counts: map[string]float64{"EndpointSlice": 1, "Server": 1}},
		"the one met longest ago is forgotten": {
			capacity: 2,
			met:      []objectmeta.Problem{web, api, web, port, web, api},
			logged:   []string{"web endpoints[0]", "api endpoints[0]", "web ports[0]", "api endpoints[0]"},
			counts:   map[string]float64{"EndpointSlice": 4},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			registry := prometheus.NewRegistry()
			r, err := report.New(report.Config{Registerer: registry, Log: slog.New(slog.NewTextHandler(&out, nil)), Capacity: tt.capacity})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range tt.met {
				r.Report(p)
			}
			if diff := cmp.Diff(tt.logged, logged(out.String())); diff != "" {
				t.Errorf("logged (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.counts, counts(t, registry)); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
}

// logged returns the name and field in each line.
func logged(out string) []string {
	var found []string
	for line := range strings.Lines(out) {
		values := map[string]string{}
		for _, word := range strings.Fields(line) {
			k, v, _ := strings.Cut(word, "=")
			values[k] = v
		}
		found = append(found, values["name"]+" "+values["field"])
	}
	return found
}

func counts(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if len(m.GetLabel()) != 1 || m.GetLabel()[0].GetName() != "kind" {
				t.Errorf("labels of %s are %v, want kind only", f.GetName(), m.GetLabel())
			}
			if found == nil {
				found = map[string]float64{}
			}
			found[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return found
}

func TestLogLine(t *testing.T) {
	var out bytes.Buffer
	r, err := report.New(report.Config{Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r.Report(problem("web", "endpoints[0]"))
	want := `level=WARN msg="Part of an object can't be used" kind=EndpointSlice namespace=emoji name=web field=endpoints[0] reason="not an IP address"` + "\n"
	if _, got, _ := strings.Cut(out.String(), " "); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

func TestReportFromManyGoroutines(t *testing.T) {
	registry := prometheus.NewRegistry()
	r, err := report.New(report.Config{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				r.Report(problem(fmt.Sprint(i), "endpoints[0]"))
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]float64{"EndpointSlice": 500}, counts(t, registry)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestNewTwice(t *testing.T) {
	registry := prometheus.NewRegistry()
	for i, want := range []bool{true, false} {
		if _, err := report.New(report.Config{Registerer: registry}); (err == nil) != want {
			t.Errorf("New number %d: %v", i, err)
		}
	}
}

// The lines of an object are limited, and the problems of others are still logged. A Service whose annotation
// got other mistakes ten times a second wrote 1.4 MB of log a minute (M5).
func TestLinesOfAnObjectAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r, err := report.New(report.Config{Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		lines := func() int {
			defer log.Reset()
			return strings.Count(log.String(), "\n")
		}
		for i := range 1000 {
			r.Report(problem("web", fmt.Sprintf("endpoints[%d]", i)))
		}
		if n := lines(); n != 21 {
			t.Errorf("%d lines, want 20 problems and one about the others", n)
		}
		r.Report(problem("api", "endpoints[0]"))
		if n := lines(); n != 1 {
			t.Errorf("%d lines about another object, want 1", n)
		}
		time.Sleep(time.Minute)
		r.Report(problem("web", "ports[0]"))
		if n := lines(); n != 1 {
			t.Errorf("%d lines a minute later, want 1", n)
		}
	})
}

// The lines of a namespace and of a linked cluster are limited, too, however many objects they have. 450,000
// slices of a linked cluster wrote 121 MB of log in half a minute.
func TestLinesOfManyObjectsAreLimited(t *testing.T) {
	for name, test := range map[string]struct {
		cluster   string
		namespace func(i int) string
		want      int
		scope     string
	}{
		"namespace":                {"", func(int) string { return "emoji" }, 201, `of="a namespace" namespace=emoji`},
		"namespaces":               {"", func(i int) string { return fmt.Sprint("ns", i%10) }, 2010, `of="a namespace" namespace=ns9`},
		"linked cluster":           {"east", func(i int) string { return fmt.Sprint("ns", i) }, 1001, `cluster=east of="a linked cluster"`},
		"namespace linked cluster": {"east", func(int) string { return "emoji" }, 201, `cluster=east of="a namespace" namespace=emoji`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				r, err := report.New(report.Config{Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				met := func(cluster, namespace string, i int) {
					p := problem(fmt.Sprint("web", i), "endpoints[0]")
					p.Cluster, p.Namespace = cluster, namespace
					r.Report(p)
				}
				for i := range 10_000 {
					met(test.cluster, test.namespace(i), i)
				}
				if n := strings.Count(log.String(), "\n"); n != test.want || !strings.Contains(log.String(), test.scope) {
					t.Errorf("%d lines, want %d and %s", n, test.want, test.scope)
				}
				log.Reset()
				met("west", "other", 0)
				met("", "other", 0)
				if n := strings.Count(log.String(), "\n"); n != 2 {
					t.Errorf("%d lines about other namespaces and clusters, want 2:\n%s", n, log.String())
				}
				time.Sleep(time.Minute)
				log.Reset()
				met(test.cluster, test.namespace(0), 10_001)
				if n := strings.Count(log.String(), "\n"); n != 1 {
					t.Errorf("%d lines a minute later, want 1", n)
				}
			})
		})
	}
}
