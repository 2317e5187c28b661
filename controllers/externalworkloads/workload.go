package externalworkloads

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// Workload is what the controller keeps of a workload.linkerd.io/v1beta1 ExternalWorkload
// (spec/destination.md §8.4).
type Workload struct {
	Namespace, Name, UID string
	Labels               objectmeta.Labels
	// IPs are spec.workloadIPs as written.
	IPs []string
	// Ports are the ports that the workload declares.
	Ports []watched.ContainerPort
	// Ready is true if the condition Ready is True.
	Ready bool
}

// Zone returns the zone label of the workload; empty without one.
func (w *Workload) Zone() string {
	zone, _ := w.Labels.Get(corev1.LabelTopologyZone)
	return zone
}

// Equal reports whether two workloads lead to the same slices of any Service (spec/destination.md §8.2,
// "relevant change", and the labels).
func (w *Workload) Equal(o *Workload) bool {
	return w.Namespace == o.Namespace && slices.Equal(w.Labels, o.Labels) && w.SameEndpoint(o)
}

// SameEndpoint reports whether two workloads give the same endpoint in the slices of a Service that selects
// both.
func (w *Workload) SameEndpoint(o *Workload) bool {
	return w.Name == o.Name && w.UID == o.UID && w.Ready == o.Ready && w.Zone() == o.Zone() &&
		slices.Equal(w.IPs, o.IPs) && slices.Equal(w.Ports, o.Ports)
}

// selective reports whether a Service has slices of the workloads that it selects (spec/destination.md §8.3).
func selective(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeExternalName && len(service.Spec.Selector) > 0
}
