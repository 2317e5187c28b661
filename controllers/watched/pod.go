package watched

import (
	"slices"
	"sync/atomic"
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

// ContainerPort is a port that a Service can refer to by name, or one of spec.ports of an
// ExternalWorkload. The protocol defaults to TCP.
type ContainerPort struct {
	Name     string
	Number   int32
	Protocol corev1.Protocol
}

// Pods is the kind core/v1 Pod.
func Pods() kube.Kind[Pod] {
	pods := kinds.Pods()
	pods.Form = pods.Form.Without(
		"spec.containers.name", "spec.containers.env", "spec.initContainers.name", "spec.initContainers.env",
		"spec.serviceAccountName", "spec.serviceAccount", "spec.schedulerName", "spec.restartPolicy", "spec.dnsPolicy",
		"spec.priority", "spec.enableServiceLinks", "spec.terminationGracePeriodSeconds",
		"status.hostIP", "status.hostIPs", "status.startTime", "status.qosClass", "status.message", "status.reason",
	)
	return kube.Retrim(pods, kube.TrimOf(new(podTrimmer).trim))
}

// podTrimmer trims pods. It is safe for concurrent use.
type podTrimmer struct{ ports, sidecarPorts lastPorts }

func (t *podTrimmer) trim(s kube.Scope, pod *corev1.Pod) (*Pod, []kube.Problem) {
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
		if ip.IP == trimmed.IP {
			trimmed.IPs[i] = trimmed.IP // which has the memory already
		}
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
	limited, problems := trimmed.limited()
	limited.Ports, limited.SidecarPorts = t.ports.shared(limited.Ports), t.sidecarPorts.shared(limited.SidecarPorts)
	return limited, problems
}

func appendPorts(s kube.Scope, ports []ContainerPort, c *corev1.Container) []ContainerPort {
	for _, p := range c.Ports {
		if p.Name != "" {
			ports = append(ports, ContainerPort{s.Intern(p.Name), p.ContainerPort, corev1.Protocol(s.Intern(string(p.Protocol)))})
		}
	}
	return ports
}

// lastPorts are the ports of the last pod. The API server lists the pods of a workload one after the other,
// and all have the same ports.
type lastPorts struct {
	last atomic.Pointer[[]ContainerPort]
}

// shared returns a list that shares memory with that of the last pod, if both are equal.
func (l *lastPorts) shared(ports []ContainerPort) []ContainerPort {
	if len(ports) == 0 {
		return nil
	}
	if last := l.last.Load(); last != nil && slices.Equal(*last, ports) {
		return *last
	}
	exact := slices.Clone(ports)
	l.last.Store(&exact)
	return exact
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
