package slices

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// MaxPorts bounds the ports of a Service, counted once for each set of port numbers that its pods or
// ExternalWorkloads have, because each set needs slices of its own.
const MaxPorts = 250_000

// TooManyPorts is the reason of Events about a Service whose ports are more than [MaxPorts].
// Members whose sets don't fit are in no slice.
const TooManyPorts = "TooManyPorts"

// PortSet identifies a set of ports. Order and explicit defaults make no difference, because Linkerd orders
// ports by a hash and the API server fills in defaults.
type PortSet string

// PortSetOf returns the set of the ports of a slice.
func PortSetOf(ports []discoveryv1.EndpointPort) PortSet {
	texts := make([]string, len(ports))
	var text []byte
	for i, p := range ports {
		text = strconv.AppendQuote(text[:0], ptr.Deref(p.Name, ""))
		text = append(append(append(text, '/'), cmp.Or(ptr.Deref(p.Protocol, ""), corev1.ProtocolTCP)...), '/')
		text = append(strconv.AppendInt(text, int64(ptr.Deref(p.Port, 0)), 10), '/')
		texts[i] = string(strconv.AppendQuote(text, ptr.Deref(p.AppProtocol, "")))
	}
	slices.Sort(texts)
	return PortSet(strings.Join(texts, ","))
}

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
