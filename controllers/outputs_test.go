package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (s *fixture) getEndpoints(name string) *corev1.Endpoints {
	s.Helper()
	return must[*corev1.Endpoints](s)(s.client.CoreV1().Endpoints(s.ns).Get(s.Context(), name, metav1.GetOptions{}))
}

// endpoints creates Endpoints as a user would.
func (s *fixture) endpoints(name string, subsets []corev1.EndpointSubset, edits ...func(*corev1.Endpoints)) *corev1.Endpoints {
	s.Helper()
	ep := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: subsets}
	for _, edit := range edits {
		edit(ep)
	}
	return must[*corev1.Endpoints](s)(s.client.CoreV1().Endpoints(s.ns).Create(s.Context(), ep, metav1.CreateOptions{}))
}

// subset returns a subset with ready addresses and one port.
func subset(number int32, ips ...string) corev1.EndpointSubset {
	list := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: number, Protocol: corev1.ProtocolTCP}}}
	for _, ip := range ips {
		list.Addresses = append(list.Addresses, corev1.EndpointAddress{IP: ip})
	}
	return list
}

func (s *fixture) editEndpoints(name string, edits ...func(*corev1.Endpoints)) *corev1.Endpoints {
	s.Helper()
	return edit(s, s.client.CoreV1().Endpoints(s.ns), name, edits...)
}

func (s *fixture) deleteEndpoints(name string) {
	s.Helper()
	s.must(s.client.CoreV1().Endpoints(s.ns).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

// unfinalizeEndpoints lets Endpoints go at the end of a test.
func (s *fixture) unfinalizeEndpoints(name string) {
	_, err := s.client.CoreV1().Endpoints(s.ns).Patch(context.Background(), name, types.MergePatchType, noFinalizers, metav1.PatchOptions{})
	if err != nil {
		s.Error(err)
	}
}

// slicesOf returns the slices of a Service that have a manager, by name.
func (s *fixture) slicesOf(service, manager string) []discoveryv1.EndpointSlice {
	s.Helper()
	return must[*discoveryv1.EndpointSliceList](s)(s.client.DiscoveryV1().EndpointSlices(s.ns).List(s.Context(), metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service + "," + discoveryv1.LabelManagedBy + "=" + manager,
	})).Items
}

func (s *fixture) slice(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	s.Helper()
	return must[*discoveryv1.EndpointSlice](s)(s.client.DiscoveryV1().EndpointSlices(s.ns).Create(s.Context(), slice, metav1.CreateOptions{}))
}

func (s *fixture) editSlice(name string, edits ...func(*discoveryv1.EndpointSlice)) {
	s.Helper()
	edit(s, s.client.DiscoveryV1().EndpointSlices(s.ns), name, edits...)
}

func (s *fixture) deleteSlice(name string) {
	s.Helper()
	s.must(s.client.DiscoveryV1().EndpointSlices(s.ns).Delete(s.Context(), name, metav1.DeleteOptions{}))
}
