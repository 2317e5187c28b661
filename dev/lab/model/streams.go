package model

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources from which responses are made.
const (
	Services          = "services"
	EndpointSlices    = "endpointslices"
	Pods              = "pods"
	ExternalWorkloads = "externalworkloads"
	ServiceProfiles   = "serviceprofiles"
)

// Kinds of workloads that an endpoint may refer to.
const (
	KindPod              = "Pod"
	KindExternalWorkload = "ExternalWorkload"
)

// Workload is the target of an endpoint. The zero Workload is none.
type Workload struct {
	Kind, Namespace, Name string
	UID                   string // empty if the reference has none
}

// Resource returns the resource of a workload other than the zero one.
func (w Workload) Resource() string {
	if w.Kind == KindPod {
		return Pods
	}
	return ExternalWorkloads
}

// Endpoint is an address of a slice.
type Endpoint struct {
	IP       netip.Addr
	Hostname string
	Zone     string // empty without a workload
	Workload Workload
}

// ServiceOf returns the name of the Service of a slice, in the slice's namespace (docs/spec/destination.md
// §2.4). The lab makes no slice without the label.
func ServiceOf(s *discoveryv1.EndpointSlice) string { return s.Labels[discoveryv1.LabelServiceName] }

// ReadyEndpoints returns the endpoints of a slice that may be served (docs/spec/destination.md §2.4). An
// unknown condition counts as ready. For an endpoint with a workload, the last address counts.
func ReadyEndpoints(s *discoveryv1.EndpointSlice) []Endpoint { return endpointsOf(s, isReady) }

func isReady(c discoveryv1.EndpointConditions) bool { return c.Ready == nil || *c.Ready }

// endpointsOf returns the endpoints of a slice with the wanted conditions.
func endpointsOf(s *discoveryv1.EndpointSlice, wanted func(discoveryv1.EndpointConditions) bool) []Endpoint {
	var out []Endpoint
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if !wanted(e.Conditions) {
			continue
		}
		w, ok := workloadOf(e, s.Namespace)
		if !ok {
			continue
		}
		addresses := e.Addresses
		if w != (Workload{}) && len(addresses) > 0 {
			addresses = addresses[len(addresses)-1:]
		}
		for _, text := range addresses {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				continue // a slice with names
			}
			out = append(out, Endpoint{IP: ip, Hostname: value(e.Hostname), Zone: zoneOf(e, w), Workload: w})
		}
	}
	return out
}

// workloadOf returns the workload of an endpoint. ok is false for a kind that isn't served.
func workloadOf(e *discoveryv1.Endpoint, namespace string) (w Workload, ok bool) {
	if e.TargetRef == nil {
		return Workload{}, true
	}
	ref := Workload{Kind: e.TargetRef.Kind, Namespace: e.TargetRef.Namespace, Name: e.TargetRef.Name, UID: string(e.TargetRef.UID)}
	switch ref.Kind {
	case KindPod:
		return ref, true
	case KindExternalWorkload:
		ref.Namespace = namespace
		return ref, true
	}
	return Workload{}, false
}

func zoneOf(e *discoveryv1.Endpoint, w Workload) string {
	if w == (Workload{}) {
		return ""
	}
	return value(e.Zone)
}

func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// PortRule derives the port of an endpoint from the requested port of a Service.
type PortRule struct {
	Exists bool // the Service exists
	// Serves is false for a Service that doesn't exist or has no endpoints of its own (type ExternalName).
	Serves bool
	// Declared is true if the Service declares the port, under Name. Otherwise Number is the port of all
	// endpoints.
	Declared bool
	Name     string
	Number   uint16
}

// RuleOf returns the rule for a port of a Service, which may be nil (docs/spec/destination.md §2.4, Target
// port). If a TCP and a UDP port have the same number, the TCP port counts.
func RuleOf(s *corev1.Service, port uint16) PortRule {
	if s == nil {
		return PortRule{}
	}
	r := PortRule{Exists: true, Serves: s.Spec.Type != corev1.ServiceTypeExternalName, Number: port}
	for _, p := range s.Spec.Ports {
		tcp := p.Protocol == "" || p.Protocol == corev1.ProtocolTCP
		if p.Port == int32(port) && (tcp || !r.Declared) {
			r.Declared, r.Name = true, p.Name
			if tcp {
				break
			}
		}
	}
	return r
}

// In returns the port of the endpoints of a slice with these ports; 0 if the slice doesn't serve it.
func (r PortRule) In(ports []discoveryv1.EndpointPort) uint16 {
	switch {
	case !r.Serves || len(ports) == 0:
		return 0
	case !r.Declared:
		return r.Number
	}
	for _, p := range ports {
		if value(p.Name) == r.Name {
			return uint16(value(p.Port))
		}
	}
	return 0
}

// Response is what a client of Get must know.
type Response struct {
	Exists bool
	// Endpoints are the served endpoints by address. If slices give an address to several workloads, all are
	// listed, and a client knows one of them.
	Endpoints map[netip.AddrPort][]Endpoint
}

// GetResponse returns the response of a state (docs/spec/destination.md §2.4) for a client on an unknown
// node, because the lab uses neither hints nor internalTrafficPolicy. An endpoint whose workload is missing,
// or has another UID, isn't served.
func GetResponse(s *State, t Target) Response {
	service, _ := Get[corev1.Service](s, Services, t.Namespace, t.Service)
	rule := RuleOf(service, t.Port)
	a := Response{Exists: rule.Exists, Endpoints: map[netip.AddrPort][]Endpoint{}}
	for _, slice := range All[discoveryv1.EndpointSlice](s, EndpointSlices, t.Namespace) {
		port := rule.In(slice.Ports)
		if ServiceOf(&slice) != t.Service || port == 0 {
			continue
		}
		for _, e := range ReadyEndpoints(&slice) {
			at := netip.AddrPortFrom(e.IP, port)
			if (t.Hostname == "" || e.Hostname == t.Hostname) && exists(s, e.Workload) {
				a.Endpoints[at] = append(a.Endpoints[at], e)
			}
		}
	}
	return a
}

// exists reports whether a state has a workload. The zero workload always exists.
func exists(s *State, w Workload) bool {
	if w == (Workload{}) {
		return true
	}
	meta, ok := Get[Meta](s, w.Resource(), w.Namespace, w.Name)
	return ok && (w.UID == "" || meta.Metadata.UID == w.UID)
}

// Meta has the used fields of workloads of all kinds.
type Meta struct {
	Metadata struct {
		UID               string            `json:"uid"`
		Labels            map[string]string `json:"labels"`
		DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		ServiceAccountName string `json:"serviceAccountName"`
	} `json:"spec"`
	Status struct {
		Phase  corev1.PodPhase `json:"phase"`
		PodIP  string          `json:"podIP"`
		PodIPs []corev1.PodIP  `json:"podIPs"`
	} `json:"status"`
}
