package model

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// SliceEntries returns the entries of a slice.
func SliceEntries(s *discoveryv1.EndpointSlice) []Entry {
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, portText(value(p.Name), string(value(p.Protocol)), value(p.Port), p.AppProtocol))
	}
	slices.Sort(ports)
	group := groupText(s.AddressType, ports)
	out := make([]Entry, 0, len(s.Endpoints))
	for _, e := range s.Endpoints {
		state := stateText{
			ready: conditionText(e.Conditions.Ready), serving: conditionText(e.Conditions.Serving), terminating: conditionText(e.Conditions.Terminating),
			hostname: value(e.Hostname), node: value(e.NodeName), zone: value(e.Zone),
		}
		out = append(out, Entry{
			Group: group, Address: strings.Join(e.Addresses, ","), Target: referenceText(e.TargetRef), State: state.String(),
			Ready: e.Conditions.Ready == nil || *e.Conditions.Ready,
		})
	}
	return out
}

func conditionText(c *bool) string {
	if c == nil {
		return ""
	}
	return fmt.Sprint(*c)
}

func referenceText(r *corev1.ObjectReference) string {
	if r == nil {
		return ""
	}
	return targetText(r.Kind, r.Namespace, r.Name, string(r.UID))
}

// EndpointsEntries returns the entries of Endpoints, one for each address and port.
func EndpointsEntries(o *corev1.Endpoints) []Entry {
	var out []Entry
	for _, subset := range o.Subsets {
		for _, port := range subsetPorts(subset) {
			out = append(out, subsetEntries(subset, port)...)
		}
	}
	return out
}

// subsetPorts returns the ports of a subset, or one empty port if there are none.
func subsetPorts(s corev1.EndpointSubset) []string {
	if len(s.Ports) == 0 {
		return []string{""}
	}
	var out []string
	for _, p := range s.Ports {
		out = append(out, portText(p.Name, string(p.Protocol), p.Port, p.AppProtocol))
	}
	return out
}

// subsetEntries returns the addresses of a subset with a port in their state.
func subsetEntries(s corev1.EndpointSubset, port string) []Entry {
	var out []Entry
	for _, a := range s.Addresses {
		out = append(out, addressEntry(a, port, true))
	}
	for _, a := range s.NotReadyAddresses {
		out = append(out, addressEntry(a, port, false))
	}
	return out
}

func addressEntry(a corev1.EndpointAddress, port string, ready bool) Entry {
	family, text := discoveryv1.AddressTypeIPv4, a.IP
	if ip, err := netip.ParseAddr(a.IP); err == nil {
		family, text = familyOf(ip), ip.String()
	}
	state := stateText{ready: fmt.Sprint(ready), hostname: a.Hostname, node: value(a.NodeName), port: port}
	return Entry{Group: string(family), Address: text, Target: referenceText(a.TargetRef), State: state.String(), Ready: ready}
}

// IsMirrored reports whether Endpoints are mirrored to slices: their Service exists and has no selector, and
// no label or annotation excludes them (docs/spec/endpoints.md §14.1).
func IsMirrored(o *corev1.Endpoints, service *corev1.Service) bool {
	_, elects := o.Annotations["control-plane.alpha.kubernetes.io/leader"]
	return service != nil && service.Spec.Selector == nil && o.Labels[discoveryv1.LabelSkipMirror] != "true" && !elects
}

// MirroredSlices returns the required entries in the slices of mirrored Endpoints (docs/spec/endpoints.md
// §14.3). Ports with the same addresses are in one group. An address that is ready and not ready for a port
// counts as not ready.
func MirroredSlices(o *corev1.Endpoints) []Entry {
	type endpoint struct{ group, address, target string }
	byPort := map[string]map[endpoint]Entry{}
	for _, subset := range o.Subsets {
		for _, port := range subsetPorts(subset) {
			if byPort[port] == nil {
				byPort[port] = map[endpoint]Entry{}
			}
			for _, e := range subsetEntries(subset, "") {
				key := endpoint{e.Group, e.Address, e.Target}
				if before, ok := byPort[port][key]; !ok || before.Ready {
					byPort[port][key] = e
				}
			}
		}
	}
	type group struct {
		ports   []string
		entries map[endpoint]Entry
	}
	groups := map[string]*group{} // by their addresses
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		key := entriesText(slices.Collect(maps.Values(byPort[port])))
		if groups[key] == nil {
			groups[key] = &group{entries: byPort[port]}
		}
		if port != "" {
			groups[key].ports = append(groups[key].ports, port)
		}
	}
	var out []Entry
	for _, g := range groups {
		for _, e := range g.entries {
			e.Group = groupText(discoveryv1.AddressType(e.Group), g.ports)
			out = append(out, e)
		}
	}
	return out
}

func entriesText(entries []Entry) string {
	texts := make([]string, len(entries))
	for n, e := range entries {
		texts[n] = e.String()
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// WantSlices returns the required entries in the slices of a Service in a state, by writer.
func WantSlices(s *State, namespace, name string) map[Writer][]Entry {
	service, ok := Get[corev1.Service](s, "services", namespace, name)
	if !ok {
		return nil
	}
	out := map[Writer][]Entry{}
	if service.Spec.Selector == nil {
		if o, ok := Get[corev1.Endpoints](s, "endpoints", namespace, name); ok && IsMirrored(o, service) {
			out[MirrorWriter] = MirroredSlices(o)
		}
		return out
	}
	zones := ZonesOf(s)
	for _, v := range s.Versions("pods", namespace) {
		if pod, err := Decode[corev1.Pod](v); err == nil {
			out[SliceWriter] = append(out[SliceWriter], PodSlices(service, pod, zones)...)
		}
	}
	for _, v := range s.Versions("externalworkloads", namespace) {
		if w, err := Decode[ExternalWorkload](v); err == nil {
			out[WorkloadWriter] = append(out[WorkloadWriter], WorkloadSlices(service, w)...)
		}
	}
	return out
}

// WantEndpoints returns the required entries in the Endpoints of a Service in a state. It is false if
// Signpost doesn't write them.
func WantEndpoints(s *State, namespace, name string) ([]Entry, bool) {
	service, ok := Get[corev1.Service](s, "services", namespace, name)
	if !ok || !HasSelector(service) {
		return nil, false
	}
	var out []Entry
	for _, v := range s.Versions("pods", namespace) {
		if pod, err := Decode[corev1.Pod](v); err == nil {
			out = append(out, PodEndpoints(service, pod)...)
		}
	}
	return out, true
}
