package process

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	slicemetrics "k8s.io/endpointslice/metrics"
)

// registerLibraryMetrics registers the metrics of the library that the endpointslices
// controller is made of. They are variables of the library, so there is one set of them
// whatever they are registered with, and nothing is counted before. Its counter syncs is
// left to callers, and has a better one in controller_sync_duration_seconds.
func registerLibraryMetrics(r prometheus.Registerer) error {
	for _, m := range []metrics.Registerable{
		slicemetrics.EndpointsAddedPerSync, slicemetrics.EndpointsRemovedPerSync, slicemetrics.EndpointsDesired,
		slicemetrics.NumEndpointSlices, slicemetrics.DesiredEndpointSlices, slicemetrics.EndpointSliceChanges,
		slicemetrics.EndpointSlicesChangedPerSync, slicemetrics.ServicesCountByTrafficDistribution,
	} {
		m.Create(nil)
		if err := r.Register(m); err != nil {
			return fmt.Errorf("register metric %s: %w", m.FQName(), err)
		}
	}
	return nil
}
