package settings

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/internal/nearest"
)

// Controllers is the settings of the controllers role. Flags of the Kubernetes controller manager
// have its names (spec/endpoints.md §2).
type Controllers struct {
	// Controllers is the list as given; see [Controllers.Names].
	Controllers []string
	Leader      Leader
	// KubeAPIQPS and KubeAPIBurst limit the rate of writes; a KubeAPIQPS of zero means no limit.
	KubeAPIQPS   float64
	KubeAPIBurst int

	Endpoints, EndpointSlices, Mirroring                 controllers.Loop
	ExternalWorkloadWorkers                              int
	MaxEndpointsPerSlice, MirroringMaxEndpointsPerSubset int
}

func defaultControllers() Controllers {
	o := Controllers{
		Leader:                         defaultLeader("signpost-controllers", "kube-system"),
		Endpoints:                      controllers.Loop{Workers: 5},
		EndpointSlices:                 controllers.Loop{Workers: 5},
		Mirroring:                      controllers.Loop{Workers: 5},
		ExternalWorkloadWorkers:        5,
		MaxEndpointsPerSlice:           100,
		MirroringMaxEndpointsPerSubset: 1000,
	}
	o.Leader.LeaseDuration = kubernetesLease
	for _, n := range controllers.Names() {
		o.Controllers = append(o.Controllers, string(n))
	}
	return o
}

// Settings implements [Section].
func (o *Controllers) Settings() []Setting {
	return slices.Concat(
		[]Setting{{Flag: "controllers", Path: "controllers.names", Value: &listValue{target: &o.Controllers}, Usage: "`list` of the controllers to run; * stands for all of them, and a dash before a name leaves that one out"}},
		o.Leader.settings(ControllersSection, "`namespace` of the Lease", namespacePattern),
		o.requestSettings(), o.loopSettings(),
	)
}

func (o *Controllers) requestSettings() []Setting {
	return []Setting{
		{Flag: "kube-api-qps", Path: "controllers.kubeAPI.qps", Value: floatValue(&o.KubeAPIQPS), Usage: "requests per second with which all controllers together may write objects; 0 for no limit"},
		{Flag: "kube-api-burst", Path: "controllers.kubeAPI.burst", Value: intValue(&o.KubeAPIBurst), Usage: "requests that may be sent at once before --kube-api-qps limits them; 0 for as many as in one second", bounds: atLeast(0)},
	}
}

func (o *Controllers) loopSettings() []Setting {
	const batch = "how long to wait, after a change of a pod, for more changes of the same Service; 0 to write at once"
	return []Setting{
		{Flag: "concurrent-endpoint-syncs", Path: "controllers.endpoints.concurrentSyncs", Value: intValue(&o.Endpoints.Workers), Usage: "how many Services have their Endpoints written at the same time", bounds: atLeast(1)},
		{Flag: "endpoint-updates-batch-period", Path: "controllers.endpoints.updatesBatchPeriod", Value: durationValue(&o.Endpoints.BatchPeriod), Usage: batch},
		{Flag: "concurrent-service-endpoint-syncs", Path: "controllers.endpointslices.concurrentSyncs", Value: intValue(&o.EndpointSlices.Workers), Usage: "how many Services have their EndpointSlices written at the same time, 1 to 50", bounds: between(1, 50)},
		{Flag: "endpointslice-updates-batch-period", Path: "controllers.endpointslices.updatesBatchPeriod", Value: durationValue(&o.EndpointSlices.BatchPeriod), Usage: batch},
		{Flag: "max-endpoints-per-slice", Path: "controllers.endpointslices.maxEndpointsPerSlice", Value: intValue(&o.MaxEndpointsPerSlice), Usage: "the most endpoints in one EndpointSlice, 1 to 1000", bounds: between(1, 1000)},
		{Flag: "mirroring-concurrent-service-endpoint-syncs", Path: "controllers.mirroring.concurrentSyncs", Value: intValue(&o.Mirroring.Workers), Usage: "how many objects of kind Endpoints are mirrored at the same time, 1 to 50", bounds: between(1, 50)},
		{Flag: "mirroring-endpointslice-updates-batch-period", Path: "controllers.mirroring.updatesBatchPeriod", Value: durationValue(&o.Mirroring.BatchPeriod), Usage: "how long to wait at least, after somebody else has changed an EndpointSlice, for more changes of the slices of the same Service"},
		{Flag: "mirroring-max-endpoints-per-subset", Path: "controllers.mirroring.maxEndpointsPerSubset", Value: intValue(&o.MirroringMaxEndpointsPerSubset), Usage: "the most addresses that are mirrored of one subset of Endpoints, 1 to 1000", bounds: between(1, 1000)},
		{Flag: "concurrent-external-workload-syncs", Path: "controllers.externalworkloads.concurrentSyncs", Value: intValue(&o.ExternalWorkloadWorkers), Usage: "how many Services have their EndpointSlices for ExternalWorkloads written at the same time, 1 to 50", bounds: between(1, 50)},
	}
}

// validate implements [Section].
func (o *Controllers) validate() []problem {
	var found []problem
	if _, err := o.Names(); err != nil {
		found = append(found, problem{flags: []string{"controllers"}, reason: err.Error()})
	}
	found = append(found, o.Leader.validate()...)
	found = append(found, o.validateRequests()...)
	return slices.Concat(found, checkBounds(o.Settings(), ""),
		checkNotNegative("endpoint-updates-batch-period", o.Endpoints.BatchPeriod),
		checkNotNegative("endpointslice-updates-batch-period", o.EndpointSlices.BatchPeriod),
		checkNotNegative("mirroring-endpointslice-updates-batch-period", o.Mirroring.BatchPeriod))
}

func (o *Controllers) validateRequests() []problem {
	var found []problem
	if o.KubeAPIQPS < 0 || math.IsNaN(o.KubeAPIQPS) || o.KubeAPIQPS > math.MaxFloat32 {
		found = append(found, problem{flags: []string{"kube-api-qps"}, reason: "must be a number of requests, or 0 for no limit"})
	}
	if o.KubeAPIBurst > 0 && o.KubeAPIQPS == 0 {
		found = append(found, problem{
			severity: remarked, flags: []string{"kube-api-burst"},
			reason: "has no effect as long as {kube-api-qps} is 0", instead: "there is no limit",
		})
	}
	return found
}

func checkNotNegative(flag string, value time.Duration) []problem {
	if value >= 0 {
		return nil
	}
	return []problem{{flags: []string{flag}, reason: "must not be negative"}}
}

// otherNames are the Kubernetes controller manager's names of the controllers.
var otherNames = map[string]controllers.Name{
	"endpoint":                           controllers.Endpoints,
	"endpoints-controller":               controllers.Endpoints,
	"endpointslice":                      controllers.EndpointSlices,
	"endpointslice-controller":           controllers.EndpointSlices,
	"endpointslicemirroring":             controllers.Mirroring,
	"endpointslice-mirroring-controller": controllers.Mirroring,
}

// Names returns the controllers to run, by the rules of the controller manager: of "name" and
// "-name", the first in the list counts; "*" stands for all controllers that aren't listed;
// otherwise the order doesn't matter.
func (o *Controllers) Names() ([]controllers.Name, error) {
	wanted := map[controllers.Name]bool{}
	all := false
	for _, item := range o.Controllers {
		if item == "*" {
			all = true
			continue
		}
		text, without := strings.CutPrefix(item, "-")
		name, err := controllerName(text)
		if err != nil {
			return nil, err
		}
		if _, decided := wanted[name]; !decided {
			wanted[name] = !without
		}
	}
	var names []controllers.Name
	for _, n := range controllers.Names() {
		if want, decided := wanted[n]; want || all && !decided {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no controller to run: name some of %s", join(controllers.Names()))
	}
	return names, nil
}

func controllerName(text string) (controllers.Name, error) {
	if name, ok := otherNames[text]; ok {
		return name, nil
	}
	known := controllers.Names()
	if slices.Contains(known, controllers.Name(text)) {
		return controllers.Name(text), nil
	}
	candidates := strings.Split(join(known), ", ")
	for other := range otherNames {
		candidates = append(candidates, other)
	}
	slices.Sort(candidates)
	if near, ok := nearest.Of(text, candidates); ok {
		return "", fmt.Errorf("unknown controller %q: did you mean %s?", text, near)
	}
	return "", fmt.Errorf("unknown controller %q: use some of %s", text, join(known))
}

func join(names []controllers.Name) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return strings.Join(list, ", ")
}

// runs reports whether the controller is to run. The settings are valid.
func (o *Controllers) runs(name controllers.Name) bool {
	names, err := o.Names()
	return err == nil && slices.Contains(names, name)
}
