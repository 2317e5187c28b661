package endpointslices

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// outdated is a label that no object can have. With it the library sees that a slice's labels are wrong.
const outdated = "labels are outdated"

// withOutdatedLabels returns the slices for the library. It compares neither the label of headless Services,
// with which kube-proxy ignores a slice, nor labels with empty values of a slice without endpoints, so that a
// slice could keep one that its Service has lost. Copies of such slices have another label, and the library
// writes all labels anew.
func (in *input) withOutdatedLabels(existing []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	all := slices.Clone(existing)
	for i, e := range existing {
		if in.hasRightEmptyLabels(e) {
			continue
		}
		copied := *e
		copied.Labels = maps.Clone(e.Labels)
		copied.Labels[outdated] = outdated
		all[i] = &copied
	}
	return all
}

// hasRightEmptyLabels reports whether a slice has the labels with empty values that it should have, and no
// others.
func (in *input) hasRightEmptyLabels(e *discoveryv1.EndpointSlice) bool {
	for name, value := range in.labels {
		if _, has := e.Labels[name]; value == "" && !has && !isOfLibrary(name) {
			return false
		}
	}
	for name, value := range e.Labels {
		if _, wanted := in.labels[name]; value == "" && !wanted && !isOfLibrary(name) {
			return false
		}
	}
	ip := in.service.Spec.ClusterIP
	_, isHeadless := e.Labels[corev1.IsHeadlessService]
	return ip == "" || isHeadless == (ip == corev1.ClusterIPNone)
}

// isOfLibrary reports whether a label says what the library knows, whatever the Service has.
func isOfLibrary(name string) bool {
	return name == discoveryv1.LabelServiceName || name == discoveryv1.LabelManagedBy || name == corev1.IsHeadlessService
}
