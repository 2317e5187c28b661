package slices

import (
	"cmp"
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
