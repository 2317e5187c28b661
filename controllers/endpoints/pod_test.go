package endpoints

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/controllers/watched"
)

// sidecar adds an init container with a port to a pod; with the policy Always it is a sidecar.
func sidecar(name string, number int, policy corev1.ContainerRestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		port := corev1.ContainerPort{Name: name, ContainerPort: int32(number), Protocol: corev1.ProtocolTCP}
		c := corev1.Container{Ports: []corev1.ContainerPort{port}}
		if policy != "" {
			c.RestartPolicy = &policy
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
}

// The fields read from a watched pod equal those that the Kubernetes library reads from the full one.
func TestPodsAreReadAsByTheLibrary(t *testing.T) {
	edits := rapid.SliceOfN(rapid.SampledFrom([]func(*corev1.Pod){
		notReady, unready, terminating, phase(corev1.PodFailed), phase(corev1.PodSucceeded), phase(corev1.PodPending), phase(""),
		podIPs(), podIPs("10.0.0.2", "fd00::2"),
		func(p *corev1.Pod) { p.Status.PodIP = "" },
		func(p *corev1.Pod) { p.Status.PodIPs = nil },
		exposing("a", 1), exposing("a", 2), exposing("b", 3),
		func(p *corev1.Pod) {
			port := corev1.ContainerPort{Name: "a", ContainerPort: 4, Protocol: corev1.ProtocolUDP}
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{port}})
		},
		sidecar("a", 5, corev1.ContainerRestartPolicyAlways), sidecar("b", 6, ""), sidecar("b", 7, corev1.ContainerRestartPolicyNever),
		func(p *corev1.Pod) { p.Spec.Hostname = "host" },
		func(p *corev1.Pod) { p.Spec.Subdomain = "foo" },
		func(p *corev1.Pod) { p.Namespace = "other" },
	}), 0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		whole := pod(0, edits.Draw(rt, "edits")...)
		kept := watchedPods(pods(whole))[0]
		service := drawService().Draw(rt, "service")
		same := func(what string, got, want any) {
			if got != want {
				rt.Errorf("%s: got %v, the library says %v", what, got, want)
			}
		}
		publish := service.Spec.PublishNotReadyAddresses
		same("included", included(service, kept), util.ShouldPodBeInEndpoints(whole, publish))
		same("ready", ready(service, kept), publish || util.IsPodReady(whole))
		same("has a hostname", hostname(service, kept) != "", util.ShouldSetHostname(whole, service))
		found, _, _ := watched.NewPortLookup(service).In(kept.Ports, kept.SidecarPorts)
		for i, port := range service.Spec.Ports {
			number, err := endpointslice.FindPort(whole, &service.Spec.Ports[i])
			same(fmt.Sprintf("target of %v", port), fmt.Sprint(found[i].Number, found[i].OK), fmt.Sprint(number, err == nil))
		}
	})
}
