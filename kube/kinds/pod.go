package kinds

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// proxyContainer is the name of the container that the proxy runs in.
const proxyContainer = "linkerd-proxy"

// Pods is the kind core/v1 Pod.
func Pods() kube.Kind[catalog.Workload] {
	return kube.Kind[catalog.Workload]{
		Name: "pod", Lag: "pods",
		Resource: corev1.SchemeGroupVersion.WithResource("pods"),
		Form:     kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.PodList{} }).Without(unreadOfPods()...).Recycled(emptyPod),
		Trim:     kube.TrimOf(trimPod),
	}
}

// unreadOfPods returns the fields of pods that are not needed to reach them, which are most of
// a pod.
func unreadOfPods() []string {
	paths := []string{
		"spec.volumes", "spec.nodeSelector", "spec.affinity", "spec.tolerations", "spec.topologySpreadConstraints",
		"spec.securityContext", "spec.imagePullSecrets", "spec.hostAliases", "spec.dnsConfig", "spec.overhead",
		"spec.resourceClaims", "spec.readinessGates", "spec.schedulingGates", "spec.ephemeralContainers",
		"status.containerStatuses", "status.initContainerStatuses", "status.ephemeralContainerStatuses",
		"status.resourceClaimStatuses", "status.resources",
		"status.conditions.lastProbeTime", "status.conditions.reason", "status.conditions.message",
	}
	for _, field := range []string{
		"image", "command", "args", "workingDir", "envFrom", "resources", "resizePolicy", "volumeMounts", "volumeDevices",
		"livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "terminationMessagePath", "terminationMessagePolicy",
		"imagePullPolicy", "securityContext",
	} {
		paths = append(paths, "spec.containers."+field, "spec.initContainers."+field)
	}
	return paths
}

// emptyPod resets a pod, but leaves it the memory that most pods need: there are more pods than
// other objects, and they are large.
func emptyPod(object runtime.Object) {
	pod := object.(*corev1.Pod)
	labels, annotations := pod.Labels, pod.Annotations
	containers, ips, hostIPs, conditions := pod.Spec.Containers, pod.Status.PodIPs, pod.Status.HostIPs, pod.Status.Conditions
	clear(labels)
	clear(annotations)
	*pod = corev1.Pod{}
	pod.Labels, pod.Annotations = labels, annotations
	pod.Spec.Containers = containers[:0]
	pod.Status.PodIPs, pod.Status.HostIPs, pod.Status.Conditions = ips[:0], hostIPs[:0], conditions[:0]
}

func trimPod(s kube.Scope, pod *corev1.Pod) (*catalog.Workload, []kube.Problem) {
	p := &problems{}
	ports := containerPorts(s, &pod.Spec, p)
	return &catalog.Workload{
		Key: catalog.WorkloadKey{
			Kind: catalog.Pod, Cluster: s.Cluster, Namespace: s.Intern(pod.Namespace), Name: pod.Name,
		},
		UID:              uid(pod.UID),
		Labels:           Labels(s, pod.Labels),
		Created:          pod.CreationTimestamp.UTC(),
		OpaquePorts:      copyOf(s, pod.Annotations, opaquePortsAnnotation),
		Ports:            ports,
		Owner:            owner(s, pod),
		IPs:              podIPs(&pod.Status, p),
		HostIPs:          hostIPs(&pod.Status, ports, p),
		HostNetwork:      pod.Spec.HostNetwork,
		Running:          pod.Status.Phase == corev1.PodRunning,
		Finished:         pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Terminating:      pod.DeletionTimestamp != nil,
		Node:             s.Intern(pod.Spec.NodeName),
		ServiceAccount:   s.Intern(pod.Spec.ServiceAccountName),
		SkipInboundPorts: s.Intern(pod.Annotations[skipInboundPortsAnnotation]),
		Proxy:            proxyListeners(s, &pod.Spec),
	}, p.list
}

// podIPs returns the addresses of a pod. Old API servers have one only, in another field.
func podIPs(status *corev1.PodStatus, p *problems) []netip.Addr {
	if len(status.PodIPs) == 0 {
		return addresses([]string{status.PodIP}, "status.podIP", p)
	}
	return addresses(texts(status.PodIPs, func(ip corev1.PodIP) string { return ip.IP }), "status.podIPs", p)
}

// hostIPs returns the addresses of a pod's host, if the pod has ports there.
func hostIPs(status *corev1.PodStatus, ports []catalog.WorkloadPort, p *problems) []netip.Addr {
	if !slices.ContainsFunc(ports, func(port catalog.WorkloadPort) bool { return port.HostPort != 0 }) {
		return nil
	}
	if len(status.HostIPs) == 0 {
		return addresses([]string{status.HostIP}, "status.hostIP", p)
	}
	return addresses(texts(status.HostIPs, func(ip corev1.HostIP) string { return ip.IP }), "status.hostIPs", p)
}

// containerPorts returns the ports of all containers, then of all init containers.
func containerPorts(s kube.Scope, spec *corev1.PodSpec, p *problems) []catalog.WorkloadPort {
	n := 0
	for _, c := range spec.Containers {
		n += len(c.Ports)
	}
	for _, c := range spec.InitContainers {
		n += len(c.Ports)
	}
	if n == 0 {
		return nil
	}
	ports := make([]catalog.WorkloadPort, 0, n)
	for i := range spec.Containers {
		ports = appendPorts(s, ports, &spec.Containers[i], p, "containers")
	}
	for i := range spec.InitContainers {
		ports = appendPorts(s, ports, &spec.InitContainers[i], p, "initContainers")
	}
	return ports
}

func appendPorts(s kube.Scope, ports []catalog.WorkloadPort, from *corev1.Container, p *problems, list string) []catalog.WorkloadPort {
	for i, c := range from.Ports {
		number, ok := portNumber(c.ContainerPort)
		if !ok {
			p.add(notPort(c.ContainerPort), "spec.%s[%q].ports[%d].containerPort", list, from.Name, i)
			continue
		}
		port := catalog.WorkloadPort{Name: s.Intern(c.Name), Port: number}
		if host, ok := portNumber(c.HostPort); ok {
			port.HostPort = host
		} else if c.HostPort != 0 {
			p.add(notPort(c.HostPort), "spec.%s[%q].ports[%d].hostPort", list, from.Name, i)
		}
		ports = append(ports, port)
	}
	return ports
}

// proxyListeners returns the listeners of the proxy, nil when the pod has no proxy. A proxy that
// runs as a native sidecar is an init container.
func proxyListeners(s kube.Scope, spec *corev1.PodSpec) *catalog.ProxyListeners {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == proxyContainer {
				return listeners(s, containers[i].Env)
			}
		}
	}
	return nil
}

func listeners(s kube.Scope, env []corev1.EnvVar) *catalog.ProxyListeners {
	l := &catalog.ProxyListeners{}
	for _, v := range env {
		switch v.Name {
		case "LINKERD2_PROXY_INBOUND_LISTEN_ADDR":
			l.Inbound = s.Intern(v.Value)
		case "LINKERD2_PROXY_ADMIN_LISTEN_ADDR":
			l.Admin = s.Intern(v.Value)
		case "LINKERD2_PROXY_CONTROL_LISTEN_ADDR":
			l.Control = s.Intern(v.Value)
		}
	}
	return l
}
