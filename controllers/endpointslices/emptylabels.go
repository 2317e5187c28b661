package endpointslices

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/controllers/slices"
)

// outdated is a label that no object can have. With it the library sees that a slice's labels are wrong.
const outdated = "labels are outdated"

// markOutdated prepares a list of slices for the library. It compares neither the label of headless Services,
// with which kube-proxy ignores a slice, nor labels with empty values of a slice without endpoints, so that a
// slice could keep one that its Service has lost. Such slices are replaced by copies with another label, and
// the library writes all labels anew.
func (in *input) markOutdated(existing []*discoveryv1.EndpointSlice) {
	for i, e := range existing {
		if in.hasRightEmptyLabels(e) {
			continue
		}
		copied := *e
		copied.Labels = maps.Clone(e.Labels)
		copied.Labels[outdated] = outdated
		existing[i] = &copied
	}
}

// hasRightEmptyLabels reports whether a slice has the labels with empty values that it should have, and no
// others.
func (in *input) hasRightEmptyLabels(e *discoveryv1.EndpointSlice) bool {
	for name, value := range in.labels {
		if _, has := e.Labels[name]; value == "" && !has && !slices.IsReserved(name) {
			return false
		}
	}
	for name, value := range e.Labels {
		if _, wanted := in.labels[name]; value == "" && !wanted && !slices.IsReserved(name) {
			return false
		}
	}
	ip := in.service.Spec.ClusterIP
	_, isHeadless := e.Labels[corev1.IsHeadlessService]
	return ip == "" || isHeadless == (ip == corev1.ClusterIPNone)
}
