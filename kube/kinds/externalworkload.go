package kinds

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// ExternalWorkloads is the kind workload.linkerd.io/v1beta1 ExternalWorkload.
func ExternalWorkloads() kube.Kind[catalog.Workload] {
	return kube.Kind[catalog.Workload]{
		Name: "externalworkload", Lag: "externalworkload", Optional: true,
		Resource: workload.SchemeGroupVersion.WithResource("externalworkloads"),
		Form:     kube.JSON(workload.AddToScheme, func() runtime.Object { return &workload.ExternalWorkloadList{} }),
		Trim:     kube.TrimOf(trimExternalWorkload),
	}
}

func trimExternalWorkload(s kube.Scope, w *workload.ExternalWorkload) (*catalog.Workload, []kube.Problem) {
	d := newFieldReader(s, w.Namespace, w.Name)
	if w.Spec.Problem != "" {
		d.refuse(w.Spec.Problem, "spec")
		return nil, d.List()
	}
	ports := d.externalPorts(w.Spec.Ports)
	return admitted(&d, &catalog.Workload{
		Key: catalog.WorkloadKey{
			Kind: catalog.ExternalWorkload, Cluster: s.Cluster, Namespace: s.Intern(w.Namespace), Name: w.Name,
		},
		UID:         uid(w.UID),
		Labels:      d.labels(w.Labels),
		Created:     w.CreationTimestamp.UTC(),
		Ports:       ports,
		OpaquePorts: d.portList(w.Annotations, opaquePortsAnnotation, portsNamed(ports)),
		Owner:       d.owner(w.OwnerReferences),
		MeshTLS:     d.meshTLS(w.Spec.MeshTLS),
		IPs:         d.addresses(texts(w.Spec.WorkloadIPs, func(ip workload.WorkloadIP) string { return ip.IP }), "spec.workloadIPs"),
	})
}

// externalPorts returns the ports of a workload. Ports that can't be used are left out.
func (d *fieldReader) externalPorts(ports []workload.Port) []catalog.WorkloadPort {
	var kept []catalog.WorkloadPort
	for i, port := range limited(d, ports, &d.ports, "spec.ports") {
		number, ok := portNumber(port.Port)
		name, fit := d.text(port.Name, labelLimit)
		switch {
		case !ok:
			d.Add(d.invalidPort(port.Port), "spec.ports[%d].port", i)
		case !fit:
			d.Add(d.unfit(port.Name, labelLimit)+", so the port is not used", "spec.ports[%d].name", i)
		default:
			kept = append(kept, catalog.WorkloadPort{Name: name, Port: number})
		}
	}
	return kept
}

// meshTLS returns the identity of a workload. If proxies could not verify the identity, the workload is
// refused, because they would silently send plaintext.
func (d *fieldReader) meshTLS(from workload.MeshTLS) catalog.MeshTLS {
	id := catalog.Identity{Name: d.scope.Intern(from.Identity)}
	switch {
	case from.Identity == "" && from.ServerName == "":
		// API servers don't convert between the versions.
		d.refuse("it has no spec.meshTLS, as if it was written as v1alpha1, which spells it meshTls; write it again as workload.linkerd.io/v1beta1, with spec.meshTLS", "spec.meshTLS")
		return catalog.MeshTLS{}
	case isURI(from.Identity):
		id.Form = catalog.URIIdentity
	case isDNSName(from.Identity):
		id.Form = catalog.DNSIdentity
	default:
		d.refuse(quote(from.Identity)+" is neither a URI such as spiffe://example.org/vm nor a DNS name, so proxies can't verify the workload", "spec.meshTLS.identity")
	}
	if !isDNSName(from.ServerName) {
		d.refuse(quote(from.ServerName)+" is no DNS name, so proxies can't open TLS connections to the workload", "spec.meshTLS.serverName")
	}
	return catalog.MeshTLS{Identity: id, ServerName: d.scope.Intern(from.ServerName)}
}
