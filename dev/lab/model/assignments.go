package model

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// DrainingEndpoints returns the draining endpoints of a slice: not ready, but serving and terminating
// (docs/spec/xds.md §4.1).
func DrainingEndpoints(s *discoveryv1.EndpointSlice) []Endpoint { return endpointsOf(s, isDraining) }

func isDraining(c discoveryv1.EndpointConditions) bool {
	return !isReady(c) && (c.Serving == nil || *c.Serving) && value(c.Terminating)
}

// ClusterRuleOf returns the rule for the xDS Cluster of a port of a Service, which may be nil. Only a TCP
// port that the Service declares has endpoints (docs/spec/xds.md §2.1).
func ClusterRuleOf(s *corev1.Service, port uint16) PortRule {
	r := RuleOf(s, port)
	r.Serves = false
	if s == nil || s.Spec.Type == corev1.ServiceTypeExternalName {
		return r
	}
	for _, p := range s.Spec.Ports {
		r.Serves = r.Serves || p.Port == int32(port) && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP)
	}
	return r
}

// Assignment has the endpoints that a ClusterLoadAssignment must have, and whether each is DRAINING.
type Assignment map[netip.AddrPort]bool

// AssignmentOf returns the ClusterLoadAssignment of a state (docs/spec/xds.md §4). An address that is ready
// in one slice and draining in another is ready. If no endpoint is ready, the draining ones count as ready.
// The node of the client doesn't matter, because the lab uses neither hints nor internalTrafficPolicy.
func AssignmentOf(s *State, t Target) Assignment {
	service, _ := Get[corev1.Service](s, Services, t.Namespace, t.Service)
	rule := ClusterRuleOf(service, t.Port)
	a := Assignment{}
	served := func(draining bool, endpoints func(*discoveryv1.EndpointSlice) []Endpoint) {
		for _, slice := range All[discoveryv1.EndpointSlice](s, EndpointSlices, t.Namespace) {
			port := rule.In(slice.Ports)
			if ServiceOf(&slice) != t.Service || port == 0 {
				continue
			}
			for _, e := range endpoints(&slice) {
				if (t.Hostname == "" || e.Hostname == t.Hostname) && exists(s, e.Workload) {
					a[netip.AddrPortFrom(e.IP, port)] = draining
				}
			}
		}
	}
	served(true, DrainingEndpoints)
	served(false, ReadyEndpoints)
	a.useDraining()
	return a
}

// useDraining makes all endpoints ready if none is.
func (a Assignment) useDraining() {
	for _, draining := range a {
		if !draining {
			return
		}
	}
	for at := range a {
		a[at] = false
	}
}
