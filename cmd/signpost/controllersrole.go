package main

import (
	"context"
	"slices"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/mirroring"
	"github.com/signpostd/signpost/internal/run"
)

// newControllersRole makes the role that writes Endpoints and EndpointSlices.
func newControllersRole(in roleInput, o controllersOptions) (role, error) {
	names, err := o.names()
	if err != nil {
		return role{}, err
	}
	if slices.Contains(names, controllers.EndpointSlices) {
		if err := registerLibraryMetrics(in.Registerer); err != nil {
			return role{}, err
		}
	}
	var mirrored *mirroring.Metrics
	if slices.Contains(names, controllers.Mirroring) {
		mirrored = mirroring.NewMetrics(in.Registerer)
	}
	w, err := newWriter(in, writerConfig{
		set: controllers.Config{
			Controllers:                    names,
			Endpoints:                      o.Endpoints.loop(),
			EndpointSlices:                 o.EndpointSlices.loop(),
			Mirroring:                      o.Mirroring.loop(),
			ExternalWorkloads:              controllers.Loop{Workers: o.ExternalWorkloadWorkers},
			MaxEndpointsPerSlice:           o.MaxEndpointsPerSlice,
			MirroringMaxEndpointsPerSubset: o.MirroringMaxEndpointsPerSubset,
			MirroringMetrics:               mirrored,
		},
		leader: o.Leader,
		qps:    o.KubeAPIQPS,
		burst:  o.KubeAPIBurst,
	})
	if err != nil {
		return role{}, err
	}
	return role{
		Tables: w.set.Tables(),
		Actors: func(settled <-chan struct{}) []run.Actor {
			return []run.Actor{
				{Name: "controllers", Run: func(ctx context.Context) error { return w.run(ctx, settled) }},
				collectorActor(settled),
			}
		},
		Details: w.details,
	}, nil
}

// runs reports whether one of the controllers is to run. The options are valid.
func (o *controllersOptions) runs(name controllers.Name) bool {
	names, err := o.names()
	return err == nil && slices.Contains(names, name)
}

func (o loopOptions) loop() controllers.Loop {
	return controllers.Loop{Workers: o.Workers, BatchPeriod: o.BatchPeriod}
}
