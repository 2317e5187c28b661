package service

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// Values of the annotation endpoints-type.
const (
	nodeExternalIP = "NodeExternalIP"
	hostIP         = "HostIP"
)

// service is a Service that may get a name. Of other Services only their own name is kept.
type service struct {
	source.Object
	of corev1.ServiceType
	// clusterIP is empty if there is none, as for a headless Service.
	clusterIP string
	headless  bool
	// local is true if only nodes with a pod of the Service accept its traffic.
	local bool
	// notReady is true if pods that aren't ready are published.
	notReady bool
	// selector selects all pods of the namespace if it is empty (spec/dns.md §17.1).
	selector     map[string]string
	externalIPs  []string
	externalName string
	// addresses and hostnames are those of the load balancer. lookedUp are the hostnames if their
	// addresses are published instead.
	addresses, hostnames, lookedUp []string
	ports                          []nodePort
	legacy                         legacyNames
}

// nodePort is a port on each node. The protocol is in lower case.
type nodePort struct {
	protocol string
	number   int32
}

func (s *services) trimService(scope kube.Scope, obj *corev1.Service) (*service, []kube.Problem) {
	kept := &service{of: obj.Spec.Type}
	if kept.of == "" {
		kept.of = corev1.ServiceTypeClusterIP
	}
	if kept.Object = s.reader.Read(scope, obj); !kept.Selected {
		return &service{Object: kept.Object}, nil
	}
	if !slices.Contains(s.types, kept.of) {
		kept.Exclude(s.skips.otherType)
		return &service{Object: kept.Object}, nil
	}
	kept.legacy = s.legacyNamesOf(obj)
	if s.asksNothing(kept) {
		kept.Exclude(s.skips.namelessOf(kept))
		return &service{Object: kept.Object}, nil
	}
	kept.readSpec(&obj.Spec)
	kept.readLoadBalancer(&obj.Status.LoadBalancer)
	if s.hosts != nil && kept.of == corev1.ServiceTypeLoadBalancer && len(kept.Annotations.Targets)+len(kept.externalIPs) == 0 {
		kept.lookedUp = kept.hostnames[:min(len(kept.hostnames), source.AddressLimit)]
	}
	return kept, nil
}

// asksNothing reports whether a Service can't have a record, whatever its addresses are. Most
// Services have none of our annotations.
func (s *services) asksNothing(svc *service) bool {
	a, templates := svc.Annotations, s.reader.Templates
	named := !s.reader.Settings.IgnoreHostnameAnnotation && len(a.Hostnames)+len(a.InternalHostnames) > 0
	return !named && !templates.HasNames() && !templates.HasPairs() && svc.legacy.none() && len(a.Problems) == 0
}

func (svc *service) readSpec(spec *corev1.ServiceSpec) {
	if svc.headless = svc.of == corev1.ServiceTypeClusterIP && spec.ClusterIP == corev1.ClusterIPNone; spec.ClusterIP != corev1.ClusterIPNone {
		svc.clusterIP = spec.ClusterIP
	}
	svc.local = spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	svc.notReady = spec.PublishNotReadyAddresses
	svc.externalIPs, svc.externalName = slices.Clone(spec.ExternalIPs), spec.ExternalName
	svc.selector = maps.Clone(spec.Selector)
	for _, port := range spec.Ports {
		if port.NodePort > 0 {
			svc.ports = append(svc.ports, nodePort{protocol: strings.ToLower(cmp.Or(string(port.Protocol), "tcp")), number: port.NodePort})
		}
	}
}

func (svc *service) readLoadBalancer(status *corev1.LoadBalancerStatus) {
	for _, ingress := range status.Ingress {
		if ingress.IP != "" {
			svc.addresses = append(svc.addresses, ingress.IP)
		}
		if ingress.Hostname != "" {
			svc.hostnames = append(svc.hostnames, ingress.Hostname)
		}
	}
}

// publishesPods reports whether the records of a Service come from pods.
func (svc *service) publishesPods() bool {
	return svc.Selected && svc.headless && len(svc.Annotations.Targets) == 0
}

// publishesNodes reports whether the records of a Service come from nodes.
func (svc *service) publishesNodes() bool {
	return svc.Selected && svc.of == corev1.ServiceTypeNodePort && len(svc.Annotations.Targets) == 0
}

// selectorKeys returns the keys in the index bySelector: those of a Service that publishes its pods, or the
// nodes that have them.
func (svc *service) selectorKeys() []string {
	if !svc.publishesPods() && !(svc.publishesNodes() && svc.local) {
		return nil
	}
	return source.SelectorKeys(svc.Key.Namespace, svc.selector)
}

// nodeKeys returns the keys in the index byNodes. kOps publishes nodes even if there is an
// annotation target.
func (svc *service) nodeKeys() []string {
	switch {
	case svc.publishesNodes(),
		svc.publishesPods() && svc.Annotations.EndpointsType == nodeExternalIP,
		svc.of == corev1.ServiceTypeNodePort && !svc.legacy.none():
		return []string{anyNode}
	}
	return nil
}
