package externalworkloads

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slicestore "github.com/signpostd/signpost/controllers/slices"
)

// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by of the slices of this
// controller: that of Linkerd's controller (spec/destination.md §8.5).
const ManagedBy = "linkerd-external-workloads-controller"

// namePrefix is the prefix of the names of slices; the name of the Service follows (spec/destination.md
// §8.5).
const namePrefix = "linkerd-external-"

// template makes the slices of one Service (spec/destination.md §8.5).
type template struct {
	service *corev1.Service
	labels  map[string]string
}

func newTemplate(service *corev1.Service) *template {
	return &template{service: service, labels: labelsOf(service)}
}

// labelsOf returns the complete labels of the slices, so that a label removed from the Service is removed
// from its slices, too.
func labelsOf(service *corev1.Service) map[string]string {
	copied, _ := slicestore.Labels(service.Labels)
	labels := map[string]string{}
	maps.Copy(labels, copied)
	maps.DeleteFunc(labels, func(label, _ string) bool { return slicestore.IsReserved(label) })
	labels[discoveryv1.LabelServiceName] = service.Name
	labels[discoveryv1.LabelManagedBy] = ManagedBy
	if isHeadless(service) {
		labels[corev1.IsHeadlessService] = ""
	}
	return labels
}

func isHeadless(service *corev1.Service) bool { return service.Spec.ClusterIP == corev1.ClusterIPNone }

// ownedBy reports whether the Service owns a slice, and not a former Service of the same name.
func ownedBy(s *discoveryv1.EndpointSlice, service *corev1.Service) bool {
	return slices.ContainsFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.UID == service.UID && o.Kind == "Service" && o.APIVersion == "v1"
	})
}

// labelled reports whether a slice has exactly the desired labels.
func (t *template) labelled(s *discoveryv1.EndpointSlice) bool { return maps.Equal(s.Labels, t.labels) }

// slice returns a new slice for b, or the new version of its slice. Metadata of other writers stays, except
// labels and owners.
func (t *template) slice(b *bin) *discoveryv1.EndpointSlice {
	meta := metav1.ObjectMeta{Namespace: t.service.Namespace, GenerateName: namePrefix + t.service.Name + "-"}
	if b.slice != nil {
		meta = *b.slice.ObjectMeta.DeepCopy()
	}
	yes := true
	meta.Labels = maps.Clone(t.labels)
	meta.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Service", Name: t.service.Name, UID: t.service.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: b.group.family, Ports: b.group.ports, Endpoints: b.endpoints,
	}
}
