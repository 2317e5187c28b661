package reconcile

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// The gauges are sums over all Services (MI-24).
func TestTotals(t *testing.T) {
	a, b := prometheus.NewGauge(prometheus.GaugeOpts{}), prometheus.NewGauge(prometheus.GaugeOpts{})
	totals := NewTotals(a, b)
	set := func(name string, values ...int) { totals.Set(Key{Namespace: "ns", Name: name}, values...) }
	want := func(wantA, wantB float64) {
		t.Helper()
		if gotA, gotB := testutil.ToFloat64(a), testutil.ToFloat64(b); gotA != wantA || gotB != wantB {
			t.Errorf("the totals are %v and %v, want %v and %v", gotA, gotB, wantA, wantB)
		}
	}
	set("one", 13, 30)
	want(13, 30)
	set("two", 2, 80)
	set("three", 13, 0)
	want(28, 110)
	set("one", 2, 80)
	want(17, 160)
	set("three", 0, 0)
	want(4, 160)
	if len(totals.of) != 2 {
		t.Errorf("remembers %v, want two Services", totals.of)
	}
	totals.Reset()
	want(0, 0)
}
