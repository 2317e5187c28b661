package kinds

import (
	"net/netip"
	"slices"

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
	d := newFieldReader(s, svc.Namespace, svc.Name)
	trimmed := &catalog.Service{
		Key:           catalog.ServiceKey{Cluster: s.Cluster, Namespace: s.Intern(svc.Namespace), Name: svc.Name},
		ExternalName:  svc.Spec.Type == corev1.ServiceTypeExternalName,
		LocalTraffic:  value(svc.Spec.InternalTrafficPolicy) == corev1.ServiceInternalTrafficPolicyLocal,
		RemoteCluster: d.label(svc.Labels, remoteDiscovery),
		RemoteService: d.label(svc.Labels, remoteService),
		Federation:    d.federation(svc.Annotations),
		ClusterIPs:    d.clusterIPs(&svc.Spec),
		Ports:         d.servicePorts(svc.Spec.Ports),
	}
	trimmed.OpaqueProtocol = portsWithProtocol(svc.Spec.Ports, opaqueProtocol)
	trimmed.GRPCProtocol = portsWithProtocol(svc.Spec.Ports, grpcProtocols...)
	trimmed.IPv6First = len(svc.Spec.IPFamilies) > 0 && svc.Spec.IPFamilies[0] == corev1.IPv6Protocol
	trimmed.Policy = d.trafficPolicy(svc.Annotations)
	trimmed.OpaquePorts = d.portList(svc.Annotations, opaquePortsAnnotation, portNamed(trimmed.Ports))
	return admitted(&d, trimmed)
}

// opaqueProtocol is the appProtocol of ports whose protocol proxies must not detect.
const opaqueProtocol = "linkerd.io/opaque"

// grpcProtocols are the appProtocols of ports that serve gRPC.
var grpcProtocols = []string{"grpc", "kubernetes.io/h2c"}

// portsWithProtocol returns the TCP ports with one of these appProtocols.
func portsWithProtocol(ports []corev1.ServicePort, appProtocols ...string) catalog.PortSet {
	var ranges []catalog.PortRange
	for i := range ports {
		if number, ok := portNumber(ports[i].Port); ok && slices.Contains(appProtocols, value(ports[i].AppProtocol)) && protocols[ports[i].Protocol] == catalog.TCP {
			ranges = append(ranges, catalog.PortRange{Low: number, High: number})
		}
	}
	return catalog.NewPortSet(ranges[:min(len(ranges), portsLimit)])
}

// servicePorts returns the ports of a Service. Ports that can't be used are left out.
func (d *fieldReader) servicePorts(ports []corev1.ServicePort) []catalog.ServicePort {
	var kept []catalog.ServicePort
	for i, port := range limited(d, ports, &d.ports, "spec.ports") {
		number, ok := portNumber(port.Port)
		name, fit := d.text(port.Name, labelLimit)
		protocol, known := protocols[port.Protocol]
		switch {
		case !ok:
			d.Add(d.invalidPort(port.Port), "spec.ports[%d].port", i)
		case !fit:
			d.Add(d.unfit(port.Name, labelLimit)+", so the port is not used", "spec.ports[%d].name", i)
		case !known:
			d.Add(quote(string(port.Protocol))+" is no protocol, so the port is not used; use TCP, UDP or SCTP", "spec.ports[%d].protocol", i)
		default:
			kept = append(kept, catalog.ServicePort{Name: name, Port: number, Protocol: protocol})
		}
	}
	return kept
}

// protocols are the protocols that a Service's port can have. The default is TCP.
var protocols = map[corev1.Protocol]catalog.Protocol{
	"": catalog.TCP, corev1.ProtocolTCP: catalog.TCP, corev1.ProtocolUDP: catalog.UDP, corev1.ProtocolSCTP: "SCTP",
}

// clusterIPs returns the cluster IPs. A headless Service, whose field is "None", has none.
func (d *fieldReader) clusterIPs(spec *corev1.ServiceSpec) []netip.Addr {
	list := spec.ClusterIPs
	if len(list) == 0 {
		list = []string{spec.ClusterIP}
	}
	if list[0] == corev1.ClusterIPNone {
		return nil
	}
	return d.addresses(list, "spec.clusterIPs")
}
