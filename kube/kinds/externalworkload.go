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
	p := &problems{}
	if w.Spec.Problem != "" {
		p.add(w.Spec.Problem+"; the last good version stays in use", "spec")
		return nil, p.list
	}
	trimmed := &catalog.Workload{
		Key: catalog.WorkloadKey{
			Kind: catalog.ExternalWorkload, Cluster: s.Cluster, Namespace: s.Intern(w.Namespace), Name: w.Name,
		},
		UID:         uid(w.UID),
		Labels:      Labels(s, w.Labels),
		Created:     w.CreationTimestamp.UTC(),
		OpaquePorts: copyOf(s, w.Annotations, opaquePortsAnnotation),
		Owner:       owner(s, w),
		MeshTLS: catalog.MeshTLS{
			Identity: s.Intern(w.Spec.MeshTLS.Identity), ServerName: s.Intern(w.Spec.MeshTLS.ServerName),
		},
	}
	trimmed.IPs = addresses(texts(w.Spec.WorkloadIPs, func(ip workload.WorkloadIP) string { return ip.IP }), "spec.workloadIPs", p)
	for i, port := range w.Spec.Ports {
		number, ok := portNumber(port.Port)
		if !ok {
			p.add(notPort(port.Port), "spec.ports[%d].port", i)
			continue
		}
		trimmed.Ports = append(trimmed.Ports, catalog.WorkloadPort{Name: s.Intern(port.Name), Port: number})
	}
	return trimmed, p.list
}
