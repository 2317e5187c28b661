package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// painter draws objects. The pools are small, so that objects meet: names, labels and addresses come again.
type painter struct{ *rand.Rand }

func pick[T any](p painter, list ...T) T { return list[p.IntN(len(list))] }

// oneIn is true once in n times.
func (p painter) oneIn(n int) bool { return p.IntN(n) == 0 }

// serviceNames are those of all Services.
var serviceNames = []string{"a", "b", "c"}

func (p painter) serviceName() string { return pick(p, serviceNames...) }

func (p painter) podName() string { return fmt.Sprintf("pod-%d", p.IntN(5)) }

func (p painter) podLabels() map[string]string {
	return pick(p, nil, map[string]string{"app": "x"}, map[string]string{"app": "y"}, map[string]string{"tier": "x"}, map[string]string{"app": "x", "tier": "x"})
}

// anyPort is the port of a Service that must have one.
func anyPort() corev1.ServicePort {
	return corev1.ServicePort{Name: "p0", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolTCP}
}

// service draws a Service that can be created.
func (p painter) service(name string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}}
	if p.oneIn(3) {
		label := pick(p, "team", corev1.IsHeadlessService, "endpoints.kubernetes.io/managed-by", discoveryv1.LabelManagedBy,
			discoveryv1.LabelServiceName, discoveryv1.LabelSkipMirror)
		s.Labels[label] = pick(p, "", "a", "true")
	}
	if p.oneIn(8) {
		s.Annotations[corev1.AnnotationTopologyMode] = pick(p, "Auto", "disabled")
	}
	s.Spec.Selector = pick(p, map[string]string{"app": "x"}, map[string]string{"tier": "x"}, map[string]string{"app": "x", "tier": "x"}, map[string]string{"app": "y"}, nil)
	s.Spec.Ports = p.servicePorts()
	s.Spec.PublishNotReadyAddresses = p.oneIn(4)
	if p.oneIn(3) {
		s.Spec.TrafficDistribution = new(pick(p, "PreferClose", "PreferSameZone", "PreferSameNode"))
	}
	if p.oneIn(10) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.org"
		return s
	}
	if p.oneIn(2) {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	} else if len(s.Spec.Ports) == 0 {
		s.Spec.Ports = []corev1.ServicePort{anyPort()}
	}
	s.Spec.IPFamilies = pick(p, []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol},
		[]corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, nil)
	policy := corev1.IPFamilyPolicySingleStack
	if len(s.Spec.IPFamilies) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	s.Spec.IPFamilyPolicy = &policy
	return s
}

func (p painter) servicePorts() []corev1.ServicePort {
	var ports []corev1.ServicePort
	for i := range p.IntN(3) {
		port := corev1.ServicePort{
			Name: fmt.Sprintf("p%d", i), Port: int32(80 + i), Protocol: pick(p, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
			TargetPort: pick(p, intstr.FromInt32(8080), intstr.FromString("http"), intstr.FromString("side"), intstr.FromInt32(9090), intstr.FromString("none")),
		}
		if p.oneIn(4) {
			port.AppProtocol = new(pick(p, "http", "kubernetes.io/h2c"))
		}
		ports = append(ports, port)
	}
	return ports
}

// node draws the name of the node of a pod.
func (p painter) node() string {
	if p.oneIn(4) {
		return ownNode
	}
	return nodeName(p.IntN(len(zones)))
}

// zone draws that of the own node when it is created.
func (p painter) zone() string { return pick(p, "z1", "z1", "z1", "z2", "") }

// pod draws a pod without a status.
func (p painter) pod(name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: p.podLabels()},
		Spec: corev1.PodSpec{
			NodeName: p.node(), HostNetwork: p.oneIn(6),
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}
	if !p.oneIn(4) {
		port := corev1.ContainerPort{Name: "http", ContainerPort: pick(p, int32(8080), 8081), Protocol: pick(p, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)}
		if pod.Spec.HostNetwork {
			port.HostPort = port.ContainerPort
		}
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{port}
	}
	if p.oneIn(3) {
		sidecar := corev1.Container{Name: "s", Image: "i", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}
		if !pod.Spec.HostNetwork {
			sidecar.Ports = []corev1.ContainerPort{{Name: "side", ContainerPort: 7070, Protocol: corev1.ProtocolTCP}}
		}
		pod.Spec.InitContainers = []corev1.Container{sidecar}
	}
	if p.oneIn(3) {
		pod.Spec.Hostname, pod.Spec.Subdomain = pick(p, "h1", "h2"), pick(p, "a", "b", "")
	}
	if p.oneIn(3) {
		pod.Finalizers = []string{"example.org/stay"}
	}
	return pod
}

// drawnTime is when the conditions of all pods changed, so that a sequence is the same whenever it is drawn.
var drawnTime = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// podStatus draws what a kubelet may say.
func (p painter) podStatus() corev1.PodStatus {
	s := corev1.PodStatus{PodIPs: p.podIPs(), Phase: pick(p, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending)}
	if len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
	if p.oneIn(12) {
		s.Phase = pick(p, corev1.PodSucceeded, corev1.PodFailed)
	}
	if !p.oneIn(6) {
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: pick(p, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse), LastTransitionTime: drawnTime,
		}}
	}
	return s
}

func (p painter) podIPs() []corev1.PodIP {
	n := p.IntN(6)
	v4, v6 := corev1.PodIP{IP: fmt.Sprintf("10.1.2.%d", n+1)}, corev1.PodIP{IP: fmt.Sprintf("fd00::%d", n+1)}
	return pick(p, []corev1.PodIP{v4}, []corev1.PodIP{v4}, []corev1.PodIP{v6}, []corev1.PodIP{v4, v6}, []corev1.PodIP{v6, v4}, nil)
}

// endpoints draws Endpoints as people write them: with addresses twice, and without ports.
func (p painter) endpoints(name string) *corev1.Endpoints {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}}
	if p.oneIn(4) {
		e.Labels[pick(p, "x", discoveryv1.LabelSkipMirror, corev1.IsHeadlessService)] = pick(p, "true", "no")
	}
	if p.oneIn(5) {
		e.Annotations[pick(p, "y", "control-plane.alpha.kubernetes.io/leader", corev1.LastAppliedConfigAnnotation, corev1.EndpointsLastChangeTriggerTime)] = "{}"
	}
	for range p.IntN(3) {
		e.Subsets = append(e.Subsets, p.subset())
	}
	return e
}

func (p painter) subset() corev1.EndpointSubset {
	var s corev1.EndpointSubset
	for range 1 + p.IntN(3) {
		a := corev1.EndpointAddress{IP: pick(p, "10.9.0.1", "10.9.0.2", "fd00::9", "10.9.0.3")}
		if p.oneIn(4) {
			a.Hostname = "h"
		}
		if p.oneIn(4) {
			a.NodeName = new(nodeName(0))
		}
		if p.oneIn(3) {
			s.NotReadyAddresses = append(s.NotReadyAddresses, a)
		} else {
			s.Addresses = append(s.Addresses, a)
		}
	}
	for i := range p.IntN(3) {
		s.Ports = append(s.Ports, corev1.EndpointPort{Name: fmt.Sprintf("q%d", i), Port: pick(p, int32(80), 81), Protocol: pick(p, corev1.ProtocolTCP, corev1.ProtocolUDP)})
	}
	return s
}
