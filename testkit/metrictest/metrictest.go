// Package metrictest reads metrics for tests: single series, and sums of all series of a metric. Tests of any
// package use it.
//
// # Concurrency
//
// The functions may be called from the goroutine of the test.
package metrictest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Series returns the value of each series by its name and labels: xds_streams{client="go",variant="sotw"}. A
// histogram has two, with the endings _count and _sum of the name.
func Series(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			suffix := ""
			if len(labels) > 0 {
				suffix = "{" + strings.Join(labels, ",") + "}"
			}
			name := family.GetName()
			if h := m.GetHistogram(); h != nil {
				values[name+"_count"+suffix], values[name+"_sum"+suffix] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			values[name+suffix] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// Sum returns the sum of all series of a metric.
func Sum(t testing.TB, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	sum, _ := sumOf(t, g, name)
	return sum
}

// Only returns the value of a metric that must have one series.
func Only(t testing.TB, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	sum, n := sumOf(t, g, name)
	if n != 1 {
		t.Fatalf("metric %s has %d series, want one", name, n)
	}
	return sum
}

func sumOf(t testing.TB, g prometheus.Gatherer, name string) (sum float64, n int) {
	t.Helper()
	for series, value := range Series(t, g) {
		if base, _, _ := strings.Cut(series, "{"); base == name {
			sum += value
			n++
		}
	}
	return sum, n
}
