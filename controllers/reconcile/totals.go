package reconcile

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Totals are gauges of values that are added up over the Services of a controller.
type Totals struct {
	gauges []prometheus.Gauge

	mu sync.Mutex
	// of has the values of each Service, one for each gauge.
	of map[Key][]int
}

// NewTotals returns the totals for gauges, which become zero.
func NewTotals(gauges ...prometheus.Gauge) *Totals {
	t := &Totals{gauges: gauges}
	t.Reset()
	return t
}

// Set replaces the values of a Service, one for each gauge.
func (t *Totals) Set(service Key, values ...int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.of[service]
	for i, value := range values {
		if before != nil {
			value -= before[i]
		}
		t.gauges[i].Add(float64(value))
	}
	if slices.ContainsFunc(values, func(value int) bool { return value != 0 }) {
		t.of[service] = values
	} else {
		delete(t.of, service)
	}
}

// Reset removes the values of all Services.
func (t *Totals) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of = map[Key][]int{}
	for _, gauge := range t.gauges {
		gauge.Set(0)
	}
}

// NewSizes returns the totals of the EndpointSlices that a controller keeps, of both families of
// addresses, and of the endpoints in them.
func (m *Metrics) NewSizes(controller string) *Totals {
	return NewTotals(m.slices.WithLabelValues(controller), m.endpoints.WithLabelValues(controller))
}
