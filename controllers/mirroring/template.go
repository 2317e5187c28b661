package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const ownerKind = "Endpoints"

// unmirrored are the annotations of Endpoints that concern that object only.
var unmirrored = []string{corev1.EndpointsLastChangeTriggerTime, corev1.LastAppliedConfigAnnotation}

// template makes the slices of one Endpoints object (spec/endpoints.md §14.4).
type template struct {
	namespace           string
	prefix              string // of the names of new slices
	labels, annotations map[string]string
	owner               metav1.OwnerReference
}

func newTemplate(endpoints *corev1.Endpoints) *template {
	t := &template{
		namespace: endpoints.Namespace, prefix: prefixOf(endpoints.Name), owner: ownerOf(endpoints),
		labels: map[string]string{}, annotations: map[string]string{},
	}
	maps.Copy(t.labels, endpoints.Labels)
	t.labels[discoveryv1.LabelServiceName] = endpoints.Name
	t.labels[discoveryv1.LabelManagedBy] = ManagedBy
	maps.Copy(t.annotations, endpoints.Annotations)
	for _, key := range unmirrored {
		delete(t.annotations, key)
	}
	return t
}

const (
	// maxSlices bounds the slices of Endpoints. An object of 1 MB could have 40,000 sets of ports, each of which
	// needs a slice.
	maxSlices = 1000
	// maxMetadata bounds the bytes of the labels and annotations of all slices of Endpoints, because each slice
	// has all of them.
	maxMetadata = 32 << 20
)

// maxSlices returns how many slices the Endpoints may have.
func (t *template) maxSlices() int {
	size := 1
	for _, m := range []map[string]string{t.labels, t.annotations} {
		for key, value := range m {
			size += len(key) + len(value)
		}
	}
	return min(maxSlices, maxMetadata/size)
}

// ownerOf returns the owner reference of slices to the Endpoints that they mirror.
func ownerOf(endpoints *corev1.Endpoints) metav1.OwnerReference {
	return *metav1.NewControllerRef(endpoints, corev1.SchemeGroupVersion.WithKind(ownerKind))
}

// prefixOf returns the prefix of slice names (§13.9).
func prefixOf(name string) string {
	prefix := name + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
		return name
	}
	return prefix
}

// describes reports whether a slice has the desired labels, annotations and owner.
func (t *template) describes(s *discoveryv1.EndpointSlice) bool {
	return maps.Equal(s.Labels, t.labels) && maps.Equal(s.Annotations, t.annotations) && t.owns(s)
}

// owns reports whether a slice belongs to the Endpoints, and not to former ones of the name.
func (t *template) owns(s *discoveryv1.EndpointSlice) bool {
	owners := slices.DeleteFunc(slices.Clone(s.OwnerReferences), func(o metav1.OwnerReference) bool {
		return o.Kind != ownerKind || o.Name != t.owner.Name
	})
	return len(owners) == 1 && owners[0].UID == t.owner.UID
}

// slice returns a slice for g. Of the metadata it replaces labels, annotations and owners.
func (t *template) slice(g *group, meta metav1.ObjectMeta) *discoveryv1.EndpointSlice {
	meta.Labels, meta.Annotations = t.labels, t.annotations
	meta.OwnerReferences = []metav1.OwnerReference{t.owner}
	return &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: g.key.family, Ports: g.ports, Endpoints: g.endpoints}
}
