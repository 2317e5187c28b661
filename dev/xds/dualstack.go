package main

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// openDualStack creates the Service with two pods, each of which has an IPv4 and an IPv6 address.
// The first pod serves on its IPv4 address only, the second one on its IPv6 address only.
func (s *shop) openDualStack(ctx context.Context) error {
	v6 := func(pod int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("fd77::%d", pod)) }
	if err := ip(ctx, "-6", "addr", "add", v6(2).String()+"/128", "dev", "lo", "nodad"); err != nil {
		return err
	}
	for i, address := range []netip.Addr{podAddress(s.scene, 1), v6(2)} {
		b, err := startBackend(ctx, fmt.Sprintf("%s-%d", s.name, i+1), address)
		if err != nil {
			return err
		}
		// An endpoint whose target is a pod is served when the pod exists.
		if err := s.pod(ctx, namespace, b.name, podAddress(s.scene, i+1), v6(i+1)); err != nil {
			return err
		}
		s.pods = append(s.pods, b)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: corev1.ServiceSpec{
			IPFamilyPolicy: new(corev1.IPFamilyPolicyRequireDualStack), IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
			Ports: []corev1.ServicePort{{Name: "grpc", Port: grpcPort, TargetPort: intstr.FromInt32(grpcPort)}},
		},
	}
	if _, err := s.client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the dual-stack Service %s: %w", s.name, err)
	}
	for family, addresses := range map[discoveryv1.AddressType][]netip.Addr{
		discoveryv1.AddressTypeIPv4: {podAddress(s.scene, 1), podAddress(s.scene, 2)},
		discoveryv1.AddressTypeIPv6: {v6(1), v6(2)},
	} {
		if _, err := s.client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, s.sliceOf(family, addresses), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create the %s slice of %s: %w", family, s.name, err)
		}
	}
	return nil
}

// sliceOf returns the slice of a dual-stack Service for one family. Endpoints of one pod have the
// same target.
func (s *shop) sliceOf(family discoveryv1.AddressType, addresses []netip.Addr) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: s.name + "-", Labels: map[string]string{discoveryv1.LabelServiceName: s.name}},
		AddressType: family,
		Ports:       []discoveryv1.EndpointPort{{Name: new("grpc"), Port: new(int32(grpcPort)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for i, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: s.pods[i].name},
		})
	}
	return slice
}
