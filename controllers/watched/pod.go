package watched

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// Pod has the fields of a core/v1 Pod that the endpoints of Services depend on (spec/endpoints.md §5.3–5.7,
// §5.13).
type Pod struct {
	Namespace, Name, UID string
	Labels               objectmeta.Labels

	// Node, Hostname and Subdomain are the fields of spec.
	Node, Hostname, Subdomain string
	// IP is status.podIP and IPs are status.podIPs, each as written, without those that no endpoint can have.
	IP  string
	IPs []string
	// Ports are the named ports of the containers, and SidecarPorts those of the init containers that keep
	// running, in the order of the spec.
	Ports, SidecarPorts []ContainerPort

	// Finished is true in the phases Succeeded and Failed; Terminating once the pod is being deleted.
	Finished, Terminating bool
	// Ready is the status of the condition Ready, empty if it is missing, and ReadySince the time of its last
	// transition.
	Ready      corev1.ConditionStatus
	ReadySince time.Time
}

// ContainerPort is a port that a Service can refer to by name.
type ContainerPort struct {
	Name     string
	Number   int32
	Protocol corev1.Protocol
}

// Pods is the kind core/v1 Pod.
func Pods() kube.Kind[Pod] {
	kind := kube.Retrim(kinds.Pods(), kube.TrimOf(trimPod))
	kind.Read = new(podReader).read
	return kind
}

func trimPod(s kube.Scope, pod *corev1.Pod) (*Pod, []kube.Problem) {
	trimmed := &Pod{
		Namespace: s.Intern(pod.Namespace), Name: pod.Name, UID: string(pod.UID),
		Labels: kinds.Labels(s, pod.Labels),
		Node:   s.Intern(pod.Spec.NodeName), Hostname: s.Intern(pod.Spec.Hostname), Subdomain: s.Intern(pod.Spec.Subdomain),
		IP:          pod.Status.PodIP,
		Finished:    pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Terminating: pod.DeletionTimestamp != nil,
	}
	if n := len(pod.Status.PodIPs); n > 0 {
		trimmed.IPs = make([]string, n)
	}
	for i, ip := range pod.Status.PodIPs {
		trimmed.IPs[i] = ip.IP
	}
	for i := range pod.Spec.Containers {
		trimmed.Ports = appendPorts(s, trimmed.Ports, &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			trimmed.SidecarPorts = appendPorts(s, trimmed.SidecarPorts, c)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			trimmed.Ready, trimmed.ReadySince = corev1.ConditionStatus(s.Intern(string(c.Status))), c.LastTransitionTime.Time
			break
		}
	}
	return trimmed.limited()
}

func appendPorts(s kube.Scope, ports []ContainerPort, c *corev1.Container) []ContainerPort {
	for _, p := range c.Ports {
		if p.Name != "" {
			ports = append(ports, ContainerPort{s.Intern(p.Name), p.ContainerPort, corev1.Protocol(s.Intern(string(p.Protocol)))})
		}
	}
	return ports
}

// SameBesidesLabels reports whether everything that endpoints depend on, except labels, is equal. The time of
// a transition alone is not a change (spec/endpoints.md §4.2).
func (p *Pod) SameBesidesLabels(o *Pod) bool {
	return p.Namespace == o.Namespace && p.Name == o.Name && p.UID == o.UID &&
		p.Node == o.Node && p.Hostname == o.Hostname && p.Subdomain == o.Subdomain &&
		p.IP == o.IP && slices.Equal(p.IPs, o.IPs) &&
		slices.Equal(p.Ports, o.Ports) && slices.Equal(p.SidecarPorts, o.SidecarPorts) &&
		p.Finished == o.Finished && p.Terminating == o.Terminating &&
		p.Ready == o.Ready
}
