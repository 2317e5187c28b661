package kinds

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// proxyContainer is the name of the proxy's container.
const proxyContainer = "linkerd-proxy"

// Pods is the kind core/v1 Pod.
func Pods() kube.Kind[catalog.Workload] {
	return kube.Kind[catalog.Workload]{
		Name: "pod", Lag: "pods",
		Resource: corev1.SchemeGroupVersion.WithResource("pods"),
		Form:     kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.PodList{} }).Without(unreadOfPods()...),
		Trim:     kube.TrimOf(trimPod),
	}
}

// unreadOfPods returns the fields of pods that are never decoded: most of a pod.
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

func trimPod(s kube.Scope, pod *corev1.Pod) (*catalog.Workload, []kube.Problem) {
	d := newFieldReader(s, pod.Namespace, pod.Name)
	ports := d.sharePorts(d.containerPorts(&pod.Spec))
	return admitted(&d, &catalog.Workload{
		Key: catalog.WorkloadKey{
			Kind: catalog.Pod, Cluster: s.Cluster, Namespace: s.Intern(pod.Namespace), Name: pod.Name,
		},
		UID:         uid(pod.UID),
		Labels:      d.labels(pod.Labels),
		Created:     pod.CreationTimestamp.UTC(),
		OpaquePorts: d.portList(pod.Annotations, opaquePortsAnnotation, portsNamed(ports)),
		Ports:       ports,
		Owner:       d.owner(pod.OwnerReferences),
		IPs:         d.podIPs(&pod.Status),
		HostIPs:     d.hostIPs(&pod.Status, ports),
		HostNetwork: pod.Spec.HostNetwork,
		Running:     pod.Status.Phase == corev1.PodRunning,
		Finished:    pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Terminating: pod.DeletionTimestamp != nil,
		Ready:       isReady(&pod.Status),
		Node:        d.optional(pod.Spec.NodeName, nameLimit, "spec.nodeName"),
		// Without the account, the pod would have another identity.
		ServiceAccount:   d.required(pod.Spec.ServiceAccountName, nameLimit, "spec.serviceAccountName"),
		SkipInboundPorts: d.portList(pod.Annotations, skipInboundPortsAnnotation, nil),
		Proxy:            d.proxyListeners(&pod.Spec),
	})
}

func isReady(status *corev1.PodStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podIPs returns the addresses of a pod. Old API servers send one address only, in another field.
func (d *fieldReader) podIPs(status *corev1.PodStatus) []netip.Addr {
	if len(status.PodIPs) == 0 {
		return d.addresses([]string{status.PodIP}, "status.podIP")
	}
	return d.addresses(texts(status.PodIPs, func(ip corev1.PodIP) string { return ip.IP }), "status.podIPs")
}

// hostIPs returns the addresses of a pod's host, if the pod uses host ports.
func (d *fieldReader) hostIPs(status *corev1.PodStatus, ports []catalog.WorkloadPort) []netip.Addr {
	if !slices.ContainsFunc(ports, func(port catalog.WorkloadPort) bool { return port.HostPort != 0 }) {
		return nil
	}
	if len(status.HostIPs) == 0 {
		return d.addresses([]string{status.HostIP}, "status.hostIP")
	}
	return d.addresses(texts(status.HostIPs, func(ip corev1.HostIP) string { return ip.IP }), "status.hostIPs")
}

// containerPorts returns the ports of all containers, then of all init containers.
func (d *fieldReader) containerPorts(spec *corev1.PodSpec) []catalog.WorkloadPort {
	n := 0
	for i := range spec.Containers {
		n += len(spec.Containers[i].Ports)
	}
	for i := range spec.InitContainers {
		n += len(spec.InitContainers[i].Ports)
	}
	if n == 0 {
		return nil
	}
	ports := make([]catalog.WorkloadPort, 0, min(n, d.ports))
	for i := range spec.Containers {
		ports = d.appendPorts(ports, &spec.Containers[i], "containers")
	}
	for i := range spec.InitContainers {
		ports = d.appendPorts(ports, &spec.InitContainers[i], "initContainers")
	}
	return ports
}

func (d *fieldReader) appendPorts(ports []catalog.WorkloadPort, from *corev1.Container, list string) []catalog.WorkloadPort {
	left := limited(d, from.Ports, &d.ports, "spec.containers")
	for i := range left {
		c := &left[i]
		number, ok := portNumber(c.ContainerPort)
		if !ok {
			d.Add(d.invalidPort(c.ContainerPort), "spec.%s[%s].ports[%d].containerPort", list, quote(from.Name), i)
			continue
		}
		name, fit := d.text(c.Name, labelLimit)
		if !fit {
			d.Add(d.unfit(c.Name, labelLimit)+", so the port is not used", "spec.%s[%s].ports[%d].name", list, quote(from.Name), i)
			continue
		}
		port := catalog.WorkloadPort{Name: name, Port: number}
		if field, reason := d.mapToHost(&port, c); field != "" {
			d.Add(reason, "spec.%s[%s].ports[%d].%s", list, quote(from.Name), i, field)
		}
		ports = append(ports, port)
	}
	return ports
}

// mapToHost sets the host port that leads to a port. Only TCP counts, because proxies speak TCP and the same
// host port may lead to another pod for UDP. If the host port can't be used, mapToHost returns the field and
// the reason.
func (d *fieldReader) mapToHost(port *catalog.WorkloadPort, c *corev1.ContainerPort) (field, reason string) {
	if c.HostPort == 0 || c.Protocol != "" && c.Protocol != corev1.ProtocolTCP {
		return "", ""
	}
	host, ok := portNumber(c.HostPort)
	if !ok {
		return "hostPort", d.invalidPort(c.HostPort)
	}
	if c.HostIP != "" {
		if port.HostIP, ok = address(c.HostIP); !ok {
			return "hostIP", d.invalidAddress(c.HostIP)
		}
	}
	port.HostPort = host
	return "", ""
}

// proxyListeners returns the listeners of the proxy; nil if the pod has no proxy. A proxy that runs as a
// native sidecar is an init container.
func (d *fieldReader) proxyListeners(spec *corev1.PodSpec) *catalog.ProxyListeners {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == proxyContainer {
				return d.shareListeners(listeners(containers[i].Env))
			}
		}
	}
	return nil
}

func listeners(env []corev1.EnvVar) (l catalog.ProxyListeners) {
	for i := range env {
		switch env[i].Name {
		case "LINKERD2_PROXY_INBOUND_LISTEN_ADDR":
			l.Inbound = listener(env[i].Value)
		case "LINKERD2_PROXY_ADMIN_LISTEN_ADDR":
			l.Admin = listener(env[i].Value)
		case "LINKERD2_PROXY_CONTROL_LISTEN_ADDR":
			l.Control = listener(env[i].Value)
		}
	}
	return l
}

// listener parses the address of a listener, IP:PORT. An invalid address is no problem here: it matters only
// for a port whose traffic goes to the proxy, and that response reports it.
func listener(text string) catalog.Listener {
	if len(text) > nameLimit {
		return catalog.Listener{}
	}
	a, err := netip.ParseAddrPort(text)
	return catalog.Listener{Port: a.Port(), Known: err == nil}
}
