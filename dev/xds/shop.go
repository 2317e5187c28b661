package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/dev/clienttest"
)

// preStop is how long a pod serves after its deletion.
const preStop = 5 * time.Second

// shop is a Service and its pods.
type shop struct {
	*cluster
	name    string
	scene   int
	made    int // pods so far
	pods    []*backend
	written bool // the slice exists
	hinted  bool // endpoints have hints for their zones
}

// newShop returns a Service that doesn't exist yet. Its name is that of the scene, with a suffix.
func (c *cluster) newShop(scene int, name string) *shop {
	return &shop{cluster: c, name: name, scene: scene}
}

// host is the name of the Service for clients, without its port.
func (s *shop) host() string { return s.name + "." + namespace }

// create creates the Service.
func (s *shop) create(ctx context.Context, annotations map[string]string) error {
	web := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Annotations: annotations},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, TargetPort: intstr.FromInt32(httpPort)},
			{Name: "grpc", Port: grpcPort, TargetPort: intstr.FromInt32(grpcPort)},
		}},
	}
	if _, err := s.client.CoreV1().Services(namespace).Create(ctx, web, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Service %s: %w", s.name, err)
	}
	return nil
}

// open creates the Service with a ready pod for each zone, which may be empty.
func (s *shop) open(ctx context.Context, zones ...string) error {
	return s.openWith(ctx, nil, zones...)
}

// openWith is open with annotations of the Service.
func (s *shop) openWith(ctx context.Context, annotations map[string]string, zones ...string) error {
	for _, zone := range zones {
		if err := s.start(ctx, zone); err != nil {
			return err
		}
	}
	if err := s.create(ctx, annotations); err != nil {
		return err
	}
	return s.write(ctx)
}

// start starts a pod. The slice has it from the next write on.
func (s *shop) start(ctx context.Context, zone string, options ...grpc.ServerOption) error {
	s.made++
	b, err := startBackend(ctx, fmt.Sprintf("%s-%d", s.name, s.made), podAddress(s.scene, s.made), options...)
	if err != nil {
		return err
	}
	b.zone = zone
	s.pods = append(s.pods, b)
	return nil
}

// write writes what the slice says about the pods.
func (s *shop) write(ctx context.Context) error {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: s.name, Labels: map[string]string{discoveryv1.LabelServiceName: s.name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("http"), Port: new(int32(httpPort)), Protocol: new(corev1.ProtocolTCP)},
			{Name: new("grpc"), Port: new(int32(grpcPort)), Protocol: new(corev1.ProtocolTCP)},
		},
	}
	for _, b := range s.pods {
		e := discoveryv1.Endpoint{
			Addresses: []string{b.address.String()},
			Conditions: discoveryv1.EndpointConditions{
				Ready: new(b.state == ready), Serving: new(b.state != starting), Terminating: new(b.state == draining),
			},
		}
		if b.zone != "" {
			e.Zone = new(b.zone)
		}
		if b.pod != "" {
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: b.pod}
		}
		if s.hinted {
			e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: b.zone}}}
		}
		slice.Endpoints = append(slice.Endpoints, e)
	}
	slicesOf := s.client.DiscoveryV1().EndpointSlices(namespace)
	var err error
	if s.written {
		_, err = slicesOf.Update(ctx, slice, metav1.UpdateOptions{})
	} else if _, err = slicesOf.Create(ctx, slice, metav1.CreateOptions{}); err == nil {
		s.written = true
	}
	if err != nil {
		return fmt.Errorf("write the EndpointSlice of %s: %w", s.name, err)
	}
	return nil
}

// replace replaces the oldest pod as a Deployment does: a new pod becomes ready, the old one
// drains, ends, and leaves the slice.
func (s *shop) replace(ctx context.Context) error {
	old := s.pods[0]
	if err := s.start(ctx, old.zone); err != nil {
		return err
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	old.state = draining
	if err := s.write(ctx); err != nil {
		return err
	}
	if err := clienttest.Pause(ctx, preStop); err != nil {
		return err
	}
	if err := old.stop(ctx); err != nil {
		return err
	}
	s.pods = s.pods[1:]
	return s.write(ctx)
}

// names returns the names of the pods that are ready, sorted.
func (s *shop) names() []string {
	var list []string
	for _, b := range s.pods {
		if b.state == ready {
			list = append(list, b.name)
		}
	}
	slices.Sort(list)
	return list
}

// close deletes the Service and ends the pods.
func (s *shop) close(ctx context.Context) error {
	for _, b := range s.pods {
		b.kill()
	}
	err := s.client.CoreV1().Services(namespace).Delete(ctx, s.name, metav1.DeleteOptions{})
	if s.written {
		if err2 := s.client.DiscoveryV1().EndpointSlices(namespace).Delete(ctx, s.name, metav1.DeleteOptions{}); err == nil {
			err = err2
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// isOf reports whether a backend is one of this Service.
func (s *shop) isOf(backend string) bool { return strings.HasPrefix(backend, s.name+"-") }
