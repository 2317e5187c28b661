package reconcile

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Size is the number of EndpointSlices of a Service, of both families, and of the endpoints in them.
type Size struct{ Slices, Endpoints int }

// sizes are the gauges of what controllers have written.
type sizes struct {
	slices, endpoints *prometheus.GaugeVec

	mu sync.Mutex
	// of has the size of each Service, by controller.
	of map[string]map[Key]Size
}

func newSizes() *sizes {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"controller"})
	}
	return &sizes{
		slices:    gauge("controller_endpoint_slices", "EndpointSlices that the controller keeps, of both families of addresses."),
		endpoints: gauge("controller_endpoints", "Endpoints in the slices that the controller keeps, of both families of addresses."),
		of:        map[string]map[Key]Size{},
	}
}

// SetSize sets the size of a Service in the gauges of a controller.
func (m *Metrics) SetSize(controller string, service Key, now Size) {
	s := m.sizes
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[controller]
	if of == nil {
		of = map[Key]Size{}
		s.of[controller] = of
	}
	before := of[service]
	s.slices.WithLabelValues(controller).Add(float64(now.Slices - before.Slices))
	s.endpoints.WithLabelValues(controller).Add(float64(now.Endpoints - before.Endpoints))
	if now == (Size{}) {
		delete(of, service)
	} else {
		of[service] = now
	}
}

// ResetSizes sets the gauges of a controller to zero.
func (m *Metrics) ResetSizes(controller string) {
	s := m.sizes
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, controller)
	s.slices.WithLabelValues(controller).Set(0)
	s.endpoints.WithLabelValues(controller).Set(0)
}
