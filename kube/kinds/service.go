package kinds

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// Services is the kind core/v1 Service.
func Services() kube.Kind[catalog.Service] {
	return kube.Kind[catalog.Service]{
		Name: "service", Lag: "services",
		Resource: corev1.SchemeGroupVersion.WithResource("services"),
		Form:     kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.ServiceList{} }),
		Trim:     kube.TrimOf(trimService),
	}
}

func trimService(s kube.Scope, svc *corev1.Service) (*catalog.Service, []kube.Problem) {
	p := &problems{}
	trimmed := &catalog.Service{
		Key:           catalog.ServiceKey{Cluster: s.Cluster, Namespace: s.Intern(svc.Namespace), Name: svc.Name},
		ExternalName:  svc.Spec.Type == corev1.ServiceTypeExternalName,
		LocalTraffic:  value(svc.Spec.InternalTrafficPolicy) == corev1.ServiceInternalTrafficPolicyLocal,
		RemoteCluster: copyOf(s, svc.Labels, remoteDiscovery),
		RemoteService: copyOf(s, svc.Labels, remoteService),
		Federation:    federation(s, svc.Annotations, p),
		OpaquePorts:   copyOf(s, svc.Annotations, opaquePortsAnnotation),
		ClusterIPs:    clusterIPs(&svc.Spec, p),
	}
	for i, port := range svc.Spec.Ports {
		number, ok := portNumber(port.Port)
		if !ok {
			p.add(notPort(port.Port), "spec.ports[%d].port", i)
			continue
		}
		protocol := catalog.Protocol(s.Intern(string(port.Protocol)))
		if protocol == "" {
			protocol = catalog.TCP
		}
		trimmed.Ports = append(trimmed.Ports, catalog.ServicePort{Name: s.Intern(port.Name), Port: number, Protocol: protocol})
	}
	return trimmed, p.list
}

// clusterIPs returns the virtual addresses. A headless Service has none: its field says None.
func clusterIPs(spec *corev1.ServiceSpec, p *problems) []netip.Addr {
	list := spec.ClusterIPs
	if len(list) == 0 {
		list = []string{spec.ClusterIP}
	}
	if list[0] == corev1.ClusterIPNone {
		return nil
	}
	return addresses(list, "spec.clusterIPs", p)
}
