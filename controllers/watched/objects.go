package watched

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// Services is the kind core/v1 Service, kept whole.
func Services() kube.Kind[corev1.Service] {
	return kube.Whole[corev1.Service](kube.Services())
}

// Endpoints is the kind core/v1 Endpoints, kept whole.
func Endpoints() kube.Kind[corev1.Endpoints] {
	return kube.Whole[corev1.Endpoints](kube.Endpoints())
}

// EndpointSlices is the kind discovery.k8s.io/v1 EndpointSlice. The slices that one of
// the given writers manages, by the label endpointslice.kubernetes.io/managed-by, are kept
// whole; of others only the name, the versions and the labels.
func EndpointSlices(writers ...string) kube.Kind[discoveryv1.EndpointSlice] {
	kind := kube.Whole[discoveryv1.EndpointSlice](kube.EndpointSlices())
	kind.Trim = kube.TrimOf(func(_ kube.Scope, s *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, []catalog.Problem) {
		if slices.Contains(writers, s.Labels[discoveryv1.LabelManagedBy]) {
			return s, nil
		}
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Name, UID: s.UID, Labels: s.Labels,
			ResourceVersion: s.ResourceVersion, Generation: s.Generation, DeletionTimestamp: s.DeletionTimestamp,
		}}, nil
	})
	return kind
}

// ByService is the name of the index of a table of EndpointSlices that files slices
// under "namespace/name" of their Service.
const ByService = "service"

// ServiceOf returns the Service that a slice is made for, by the label
// kubernetes.io/service-name. It returns false for a slice without one.
func ServiceOf(s *discoveryv1.EndpointSlice) (types.NamespacedName, bool) {
	name := s.Labels[discoveryv1.LabelServiceName]
	return types.NamespacedName{Namespace: s.Namespace, Name: name}, name != ""
}

// ServiceKeys returns what [ByService] files a slice under.
func ServiceKeys(s *discoveryv1.EndpointSlice) []string {
	key, ok := ServiceOf(s)
	if !ok {
		return nil
	}
	return []string{key.String()}
}
