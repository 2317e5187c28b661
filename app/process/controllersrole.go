package process

import (
	"slices"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/mirroring"
	"github.com/signpostd/signpost/internal/run"
)

// newControllersRole creates the role that writes Endpoints and EndpointSlices. explains is false
// if another role explains the Services.
func newControllersRole(in roleInput, o settings.Controllers, explains bool) (role, error) {
	names, err := o.Names()
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
			Endpoints:                      o.Endpoints,
			EndpointSlices:                 o.EndpointSlices,
			Mirroring:                      o.Mirroring,
			ExternalWorkloads:              controllers.Loop{Workers: o.ExternalWorkloadWorkers},
			MaxEndpointsPerSlice:           o.MaxEndpointsPerSlice,
			MirroringMaxEndpointsPerSubset: o.MirroringMaxEndpointsPerSubset,
			MirroringMetrics:               mirrored,
		},
		leader: o.Leader,
		qps:    o.KubeAPIQPS,
		burst:  o.KubeAPIBurst,

		explains: explains,
	})
	if err != nil {
		return role{}, err
	}
	return role{
		Name:        settings.ControllersSection,
		Tables:      w.set.Tables(),
		Actors:      func(settled <-chan struct{}) []run.Actor { return w.actors("controllers", settled) },
		Details:     w.details,
		SendWarning: w.sendWarning,
		Leading:     func() inspect.Leading { return w.unled.leading(settings.ControllersSection) },
		Problems:    w.leadership.problems,
		Offer:       inspect.Offer{Explains: waitExplainer{set: w.set, leadership: w.leadership, objects: w.objects}, Writes: unwritten{w.set}},
	}, nil
}
