package settings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/controllers"
)

// Controllers are the settings of the controllers role. Flags that the Kubernetes
// controller manager has, too, have its names (spec/endpoints.md §2).
type Controllers struct {
	// Controllers is as given; [Controllers.names] says what it means.
	Controllers []string
	Leader      Leader
	// KubeAPIQPS and KubeAPIBurst limit the requests that write; zero is no limit.
	KubeAPIQPS   float64
	KubeAPIBurst int

	Endpoints, EndpointSlices, Mirroring                 Loop
	ExternalWorkloadWorkers                              int
	MaxEndpointsPerSlice, MirroringMaxEndpointsPerSubset int
}

// Loop are the settings that controllers have in common.
type Loop struct {
	Workers     int
	BatchPeriod time.Duration
}

// DefaultControllers are the defaults of flags and of config files.
func DefaultControllers() Controllers {
	o := Controllers{
		Leader:                         defaultLeaderOptions("signpost-controllers", "kube-system"),
		Endpoints:                      Loop{Workers: 5},
		EndpointSlices:                 Loop{Workers: 5},
		Mirroring:                      Loop{Workers: 5},
		ExternalWorkloadWorkers:        5,
		MaxEndpointsPerSlice:           100,
		MirroringMaxEndpointsPerSubset: 1000,
	}
	for _, n := range controllers.Names() {
		o.Controllers = append(o.Controllers, string(n))
	}
	return o
}

// Settings implements [Section].
func (o *Controllers) Settings() []Setting {
	return slices.Concat(
		[]Setting{{Flag: "controllers", Path: "controllers.names", Value: &listValue{target: &o.Controllers}, Usage: "`list` of the controllers to run; * is all of them, and a dash before a name leaves that one out"}},
		o.Leader.Settings(ControllersSection, "`namespace` of the Lease"),
		o.requestSettings(), o.loopSettings(),
	)
}

func (o *Controllers) requestSettings() []Setting {
	return []Setting{
		{Flag: "kube-api-qps", Path: "controllers.kubeAPI.qps", Value: floatValue{&o.KubeAPIQPS}, Usage: "requests a second that may write objects, all controllers together; 0 for no limit but that of the API server"},
		{Flag: "kube-api-burst", Path: "controllers.kubeAPI.burst", Value: intValue{&o.KubeAPIBurst}, Usage: "requests that may exceed --kube-api-qps for a moment; 0 for those of one second"},
	}
}

func (o *Controllers) loopSettings() []Setting {
	const batch = "how long a change of a pod waits for others of the same Service; 0 is not at all"
	return []Setting{
		{Flag: "concurrent-endpoint-syncs", Path: "controllers.endpoints.concurrentSyncs", Value: intValue{&o.Endpoints.Workers}, Usage: "Services whose Endpoints are written at the same time"},
		{Flag: "endpoint-updates-batch-period", Path: "controllers.endpoints.updatesBatchPeriod", Value: durationValue{&o.Endpoints.BatchPeriod}, Usage: batch},
		{Flag: "concurrent-service-endpoint-syncs", Path: "controllers.endpointslices.concurrentSyncs", Value: intValue{&o.EndpointSlices.Workers}, Usage: "Services whose EndpointSlices are written at the same time, 1 to 50"},
		{Flag: "endpointslice-updates-batch-period", Path: "controllers.endpointslices.updatesBatchPeriod", Value: durationValue{&o.EndpointSlices.BatchPeriod}, Usage: batch},
		{Flag: "max-endpoints-per-slice", Path: "controllers.endpointslices.maxEndpointsPerSlice", Value: intValue{&o.MaxEndpointsPerSlice}, Usage: "endpoints in an EndpointSlice, 1 to 1000"},
		{Flag: "mirroring-concurrent-service-endpoint-syncs", Path: "controllers.mirroring.concurrentSyncs", Value: intValue{&o.Mirroring.Workers}, Usage: "Endpoints that are mirrored at the same time, 1 to 50"},
		{Flag: "mirroring-endpointslice-updates-batch-period", Path: "controllers.mirroring.updatesBatchPeriod", Value: durationValue{&o.Mirroring.BatchPeriod}, Usage: "how long a change of Endpoints waits for others of the same object; 0 is not at all"},
		{Flag: "mirroring-max-endpoints-per-subset", Path: "controllers.mirroring.maxEndpointsPerSubset", Value: intValue{&o.MirroringMaxEndpointsPerSubset}, Usage: "addresses of a subset of Endpoints that are mirrored, 1 to 1000"},
		{Flag: "concurrent-external-workload-syncs", Path: "controllers.externalworkloads.concurrentSyncs", Value: intValue{&o.ExternalWorkloadWorkers}, Usage: "Services whose EndpointSlices for ExternalWorkloads are written at the same time, 1 to 50"},
	}
}

// Validate returns what is wrong with the options.
func (o *Controllers) Validate() []Problem {
	var found []Problem
	if _, err := o.Names(); err != nil {
		found = append(found, Problem{flags: []string{"controllers"}, reason: err.Error()})
	}
	found = append(found, o.Leader.validate()...)
	found = append(found, o.validateRequests()...)
	if o.Endpoints.Workers < 1 {
		found = append(found, Problem{flags: []string{"concurrent-endpoint-syncs"}, reason: "must be at least 1"})
	}
	return slices.Concat(found,
		checkRange("concurrent-service-endpoint-syncs", o.EndpointSlices.Workers, 50),
		checkRange("mirroring-concurrent-service-endpoint-syncs", o.Mirroring.Workers, 50),
		checkRange("concurrent-external-workload-syncs", o.ExternalWorkloadWorkers, 50),
		checkRange("max-endpoints-per-slice", o.MaxEndpointsPerSlice, 1000),
		checkRange("mirroring-max-endpoints-per-subset", o.MirroringMaxEndpointsPerSubset, 1000),
		checkNotNegative("endpoint-updates-batch-period", o.Endpoints.BatchPeriod),
		checkNotNegative("endpointslice-updates-batch-period", o.EndpointSlices.BatchPeriod),
		checkNotNegative("mirroring-endpointslice-updates-batch-period", o.Mirroring.BatchPeriod))
}

func (o *Controllers) validateRequests() []Problem {
	found := checkNotNegative("kube-api-burst", o.KubeAPIBurst)
	if o.KubeAPIQPS < 0 || math.IsNaN(o.KubeAPIQPS) || o.KubeAPIQPS > math.MaxFloat32 {
		found = append(found, Problem{flags: []string{"kube-api-qps"}, reason: "must be a number of requests, or 0 for no limit"})
	}
	if o.KubeAPIBurst > 0 && o.KubeAPIQPS == 0 {
		found = append(found, Problem{
			severity: remarked, flags: []string{"kube-api-burst"},
			reason: "has no effect as long as {kube-api-qps} is 0", instead: "there is no limit",
		})
	}
	return found
}

func checkRange(flag string, value, most int) []Problem {
	if 1 <= value && value <= most {
		return nil
	}
	return []Problem{{flags: []string{flag}, reason: fmt.Sprintf("must be from 1 to %d", most)}}
}

func checkNotNegative[T cmp.Ordered](flag string, value T) []Problem {
	var zero T
	if value >= zero {
		return nil
	}
	return []Problem{{flags: []string{flag}, reason: "must not be negative"}}
}

// otherNames are what the Kubernetes controller manager calls the controllers.
var otherNames = map[string]controllers.Name{
	"endpoint":                           controllers.Endpoints,
	"endpoints-controller":               controllers.Endpoints,
	"endpointslice":                      controllers.EndpointSlices,
	"endpointslice-controller":           controllers.EndpointSlices,
	"endpointslicemirroring":             controllers.Mirroring,
	"endpointslice-mirroring-controller": controllers.Mirroring,
}

// Names returns the controllers to run. As with the controller manager, the order in
// the list has no meaning, except that the first of "name" and "-name" counts, and that
// both count more than "*".
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
	if near, ok := Nearest(text, candidates); ok {
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

// Runs reports whether one of the controllers is to run. The options are valid.
func (o *Controllers) Runs(name controllers.Name) bool {
	names, err := o.Names()
	return err == nil && slices.Contains(names, name)
}
