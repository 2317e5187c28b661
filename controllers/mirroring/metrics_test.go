package mirroring

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/controllers/reconcile"
)

// TestTotals shows that the gauges are sums over all Services (MI-24).
func TestTotals(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	set := func(name string, wanted, actual, endpoints int) {
		m.set(reconcile.Key{Namespace: "ns", Name: name}, totals{endpoints: endpoints, slices: actual, wantedSlices: wanted})
	}
	want := func(wanted, actual, endpoints int) {
		t.Helper()
		got := []float64{testutil.ToFloat64(m.wantedSlices), testutil.ToFloat64(m.slices), testutil.ToFloat64(m.endpoints)}
		if fmt.Sprint(got) != fmt.Sprint([]int{wanted, actual, endpoints}) {
			t.Errorf("desired, actual and endpoints are %v, want %v", got, []int{wanted, actual, endpoints})
		}
	}
	set("one", 2, 13, 30)
	want(2, 13, 30)
	set("two", 2, 2, 80)
	want(4, 15, 110)
	set("three", 2, 13, 30)
	want(6, 28, 140)
	set("one", 2, 2, 80)
	want(6, 17, 190)
	set("three", 0, 0, 0)
	want(4, 4, 160)
	if len(m.totals) != 2 {
		t.Errorf("remembers %v, want two services", m.totals)
	}
	m.reset()
	want(0, 0, 0)
}
