package main

import (
	"fmt"
	"strings"

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

// queueMetrics returns what the metrics of controllers are registered with: those of
// their queues are left out unless they are wanted.
func queueMetrics(r prometheus.Registerer, wanted bool) prometheus.Registerer {
	if wanted {
		return r
	}
	return withoutQueues{r}
}

// withoutQueues drops the metrics of work queues.
type withoutQueues struct{ prometheus.Registerer }

// MustRegister implements prometheus.Registerer.
func (w withoutQueues) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if !ofQueue(c) {
			w.Registerer.MustRegister(c)
		}
	}
}

func ofQueue(c prometheus.Collector) bool {
	descs := make(chan *prometheus.Desc, 1)
	c.Describe(descs)
	return strings.Contains((<-descs).String(), `fqName: "workqueue_`)
}
