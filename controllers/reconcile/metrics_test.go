package reconcile

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/testkit/metrictest"
)

// A change that happened in the future, by the clock of its writer, doesn't decrease the sum of the
// histogram, which Prometheus would take for a restart.
func TestTransitionByClockThatIsAhead(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, nil)
	m.wrote("test", "update", time.Now().Add(time.Hour), nil)
	const name = "controller_transition_to_write_seconds"
	if n, sum := metrictest.Only(t, registry, name+"_count"), metrictest.Only(t, registry, name+"_sum"); n != 1 || sum != 0 {
		t.Errorf("%v writes took %v s, want one that took none", n, sum)
	}
}
