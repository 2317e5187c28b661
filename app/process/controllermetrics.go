package process

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	slicemetrics "k8s.io/endpointslice/metrics"
)

// registerLibraryMetrics registers the metrics of the library behind the controller endpointslices.
// They are global variables, and count only after they are registered.
func registerLibraryMetrics(r prometheus.Registerer) error {
	for _, m := range []metrics.Registerable{
		slicemetrics.EndpointsAddedPerSync, slicemetrics.EndpointsRemovedPerSync, slicemetrics.EndpointsDesired,
		slicemetrics.NumEndpointSlices, slicemetrics.DesiredEndpointSlices, slicemetrics.EndpointSliceChanges,
		slicemetrics.EndpointSlicesChangedPerSync, slicemetrics.EndpointSliceSyncs, slicemetrics.ServicesCountByTrafficDistribution,
	} {
		m.Create(nil)
		if err := r.Register(m); err != nil {
			return fmt.Errorf("register metric %s: %w", m.FQName(), err)
		}
	}
	return nil
}
