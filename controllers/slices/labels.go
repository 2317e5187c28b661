package slices

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// maxLabels bounds the bytes of the labels of a Service that are copied to its slices. Labels have no limit
// but the size of an object, and a Service of 1 MB would make a slice of 1 MB for each set of port numbers of
// its pods. Services in use have less than a tenth of this.
const maxLabels = 16 << 10

// LabelsTooLarge is the reason of Events about a Service whose labels are not copied.
const LabelsTooLarge = "LabelsTooLarge"

// Labels returns the labels of a Service that its slices get: all of them, or none and a problem if they are
// too large.
func Labels(of map[string]string) (labels map[string]string, problem string) {
	size := 0
	for key, value := range of {
		size += len(key) + len(value)
	}
	if size <= maxLabels {
		return of, ""
	}
	return nil, fmt.Sprintf("the labels have %d bytes and are not copied to the EndpointSlices, because each slice would have them and %d bytes are allowed; remove labels that nothing selects by",
		size, maxLabels)
}

// IsReserved reports whether a label says what a slice is for. Such labels of a Service are not copied.
func IsReserved(label string) bool {
	return label == discoveryv1.LabelServiceName || label == discoveryv1.LabelManagedBy || label == corev1.IsHeadlessService
}
