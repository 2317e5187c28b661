package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/controllers"
)

// controllersOptions are the settings of the controllers role. Flags that the Kubernetes
// controller manager has, too, have its names (spec/endpoints.md §2).
type controllersOptions struct {
	// Controllers is as given; [controllersOptions.names] says what it means.
	Controllers []string
	Leader      leaderOptions
	// KubeAPIQPS and KubeAPIBurst limit the requests that write; zero is no limit.
	KubeAPIQPS   float64
	KubeAPIBurst int

	Endpoints, EndpointSlices, Mirroring                 loopOptions
	ExternalWorkloadWorkers                              int
	MaxEndpointsPerSlice, MirroringMaxEndpointsPerSubset int
}

// loopOptions are the settings that controllers have in common.
type loopOptions struct {
	Workers     int
	BatchPeriod time.Duration
}

// defaultControllersOptions are the defaults of flags and of config files.
func defaultControllersOptions() controllersOptions {
	o := controllersOptions{
		Leader:                         defaultLeaderOptions("signpost-controllers", "kube-system"),
		Endpoints:                      loopOptions{Workers: 5},
		EndpointSlices:                 loopOptions{Workers: 5},
		Mirroring:                      loopOptions{Workers: 5},
		ExternalWorkloadWorkers:        5,
		MaxEndpointsPerSlice:           100,
		MirroringMaxEndpointsPerSubset: 1000,
	}
	for _, n := range controllers.Names() {
		o.Controllers = append(o.Controllers, string(n))
	}
	return o
}

func (o *controllersOptions) settings() []setting {
	return slices.Concat(
		[]setting{{flag: "controllers", path: "controllers.names", value: &listValue{target: &o.Controllers}, usage: "`list` of the controllers to run; * is all of them, and a dash before a name leaves that one out"}},
		o.Leader.settings(controllersSection, "`namespace` of the Lease"),
		o.requestSettings(), o.loopSettings(),
	)
}

func (o *controllersOptions) requestSettings() []setting {
	return []setting{
		{flag: "kube-api-qps", path: "controllers.kubeAPI.qps", value: floatValue{&o.KubeAPIQPS}, usage: "requests a second that may write objects, all controllers together; 0 for no limit but that of the API server"},
		{flag: "kube-api-burst", path: "controllers.kubeAPI.burst", value: intValue{&o.KubeAPIBurst}, usage: "requests that may exceed --kube-api-qps for a moment; 0 for those of one second"},
	}
}

func (o *controllersOptions) loopSettings() []setting {
	const batch = "how long a change of a pod waits for others of the same Service; 0 is not at all"
	return []setting{
		{flag: "concurrent-endpoint-syncs", path: "controllers.endpoints.concurrentSyncs", value: intValue{&o.Endpoints.Workers}, usage: "Services whose Endpoints are written at the same time"},
		{flag: "endpoint-updates-batch-period", path: "controllers.endpoints.updatesBatchPeriod", value: durationValue{&o.Endpoints.BatchPeriod}, usage: batch},
		{flag: "concurrent-service-endpoint-syncs", path: "controllers.endpointslices.concurrentSyncs", value: intValue{&o.EndpointSlices.Workers}, usage: "Services whose EndpointSlices are written at the same time, 1 to 50"},
		{flag: "endpointslice-updates-batch-period", path: "controllers.endpointslices.updatesBatchPeriod", value: durationValue{&o.EndpointSlices.BatchPeriod}, usage: batch},
		{flag: "max-endpoints-per-slice", path: "controllers.endpointslices.maxEndpointsPerSlice", value: intValue{&o.MaxEndpointsPerSlice}, usage: "endpoints in an EndpointSlice, 1 to 1000"},
		{flag: "mirroring-concurrent-service-endpoint-syncs", path: "controllers.mirroring.concurrentSyncs", value: intValue{&o.Mirroring.Workers}, usage: "Endpoints that are mirrored at the same time, 1 to 50"},
		{flag: "mirroring-endpointslice-updates-batch-period", path: "controllers.mirroring.updatesBatchPeriod", value: durationValue{&o.Mirroring.BatchPeriod}, usage: "how long a change of Endpoints waits for others of the same object; 0 is not at all"},
		{flag: "mirroring-max-endpoints-per-subset", path: "controllers.mirroring.maxEndpointsPerSubset", value: intValue{&o.MirroringMaxEndpointsPerSubset}, usage: "addresses of a subset of Endpoints that are mirrored, 1 to 1000"},
		{flag: "concurrent-external-workload-syncs", path: "controllers.externalworkloads.concurrentSyncs", value: intValue{&o.ExternalWorkloadWorkers}, usage: "Services whose EndpointSlices for ExternalWorkloads are written at the same time, 1 to 50"},
	}
}

// Validate returns what is wrong with the options.
func (o *controllersOptions) Validate() []problem {
	var found []problem
	if _, err := o.names(); err != nil {
		found = append(found, problem{flags: []string{"controllers"}, reason: err.Error()})
	}
	found = append(found, o.Leader.validate()...)
	found = append(found, o.validateRequests()...)
	if o.Endpoints.Workers < 1 {
		found = append(found, problem{flags: []string{"concurrent-endpoint-syncs"}, reason: "must be at least 1"})
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

func (o *controllersOptions) validateRequests() []problem {
	found := checkNotNegative("kube-api-burst", o.KubeAPIBurst)
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

func checkRange(flag string, value, most int) []problem {
	if 1 <= value && value <= most {
		return nil
	}
	return []problem{{flags: []string{flag}, reason: fmt.Sprintf("must be from 1 to %d", most)}}
}

func checkNotNegative[T cmp.Ordered](flag string, value T) []problem {
	var zero T
	if value >= zero {
		return nil
	}
	return []problem{{flags: []string{flag}, reason: "must not be negative"}}
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

// names returns the controllers to run. As with the controller manager, the order in
// the list has no meaning, except that the first of "name" and "-name" counts, and that
// both count more than "*".
func (o *controllersOptions) names() ([]controllers.Name, error) {
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
	if near, ok := nearest(text, candidates); ok {
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
