package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Writer is a controller of Signpost, named by the label that it sets.
type Writer string

// Writers of slices and Endpoints (docs/spec/endpoints.md §2 and docs/spec/destination.md §8.5).
const (
	SliceWriter     Writer = "endpointslice-controller.k8s.io"
	MirrorWriter    Writer = "endpointslicemirroring-controller.k8s.io"
	WorkloadWriter  Writer = "linkerd-external-workloads-controller"
	EndpointsWriter Writer = "endpoint-controller" // of Endpoints
)

// WriterOf returns the writer of a slice; false if it isn't one of Signpost.
func WriterOf(s *discoveryv1.EndpointSlice) (Writer, bool) {
	w := Writer(s.Labels[discoveryv1.LabelManagedBy])
	return w, w == SliceWriter || w == MirrorWriter || w == WorkloadWriter
}

// Entry is an address with its ports in a slice or in Endpoints. Two entries are equal if and only if their
// content is.
type Entry struct {
	// Group is the common part of all endpoints of a slice: family and ports. In Endpoints it is the family.
	Group string
	// Address and Target identify the endpoint. Target is empty, or kind, name and UID such as "Pod
	// lab/web-0-x …".
	Address, Target string
	// State has all other fields: conditions, hostname, node and zone; in Endpoints also the ports.
	State string
	// Ready is true if the endpoint may get requests.
	Ready bool
}

func (e Entry) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{e.Address, e.Target, e.State, "in", e.Group}, " ")), " ")
}

// Zones are the zones of nodes by name.
type Zones map[string]string

// ZonesOf returns the zones of the nodes of a state.
func ZonesOf(s *State) Zones {
	out := Zones{}
	for _, n := range All[corev1.Node](s, "nodes", "") {
		out[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	return out
}

// Selects reports whether a Service has a selector for which a controller writes, and it selects these labels
// (docs/spec/endpoints.md §5.1 and §5.2).
func Selects(service *corev1.Service, labels map[string]string) bool {
	if !HasSelector(service) {
		return false
	}
	for key, want := range service.Spec.Selector {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// HasSelector reports whether slices and Endpoints are written for a Service.
func HasSelector(service *corev1.Service) bool {
	return service.Spec.Selector != nil && service.Spec.Type != corev1.ServiceTypeExternalName
}

// PodSlices returns the required entries for a pod in the slices of a Service (docs/spec/endpoints.md §13.6):
// one for each family, or none if the pod isn't selected or has no address.
func PodSlices(service *corev1.Service, pod *corev1.Pod, zones Zones) []Entry {
	if !Selects(service, pod.Labels) || !hasAddress(pod) {
		return nil
	}
	zone, known := zones[pod.Spec.NodeName]
	publish := service.Spec.PublishNotReadyAddresses
	if !known && !publish {
		return nil
	}
	serving, terminating := podReady(pod), pod.DeletionTimestamp != nil
	ready := publish || serving && !terminating
	state := stateText{
		ready: fmt.Sprint(ready), serving: fmt.Sprint(serving), terminating: fmt.Sprint(terminating),
		hostname: podHostname(service, pod), node: pod.Spec.NodeName, zone: zone,
	}
	ports := podPorts(service, pod)
	var out []Entry
	for _, family := range Families(service) {
		if addresses := podAddresses(pod, family); len(addresses) > 0 {
			out = append(out, Entry{Group: groupText(family, ports), Address: strings.Join(addresses, ","), Target: podTarget(pod), State: state.String(), Ready: ready})
		}
	}
	return out
}

// PodEndpoints returns the required entries for a pod in the Endpoints of a Service, one for each port
// (docs/spec/endpoints.md §5.3 to §5.7). The writer may pack them into subsets in any way.
func PodEndpoints(service *corev1.Service, pod *corev1.Pod) []Entry {
	publish := service.Spec.PublishNotReadyAddresses
	if !Selects(service, pod.Labels) || !hasAddress(pod) || pod.DeletionTimestamp != nil && !publish {
		return nil
	}
	family := endpointsFamily(service, pod)
	addresses := podAddresses(pod, family)
	if len(addresses) == 0 {
		return nil
	}
	ports := podPorts(service, pod)
	switch {
	case len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone:
		ports = []string{""}
	case len(ports) == 0:
		return nil
	}
	ready := publish || podReady(pod)
	state := stateText{ready: fmt.Sprint(ready), hostname: podHostname(service, pod), node: pod.Spec.NodeName}
	var out []Entry
	for _, port := range ports {
		state.port = port
		out = append(out, Entry{Group: string(family), Address: addresses[0], Target: podTarget(pod), State: state.String(), Ready: ready})
	}
	return out
}

// ExternalWorkload has the fields that the writer of slices uses (docs/spec/destination.md §8.4).
type ExternalWorkload struct {
	Metadata struct {
		Name, Namespace, UID string
		Labels               map[string]string
	}
	Spec struct {
		Ports []struct {
			Name, Protocol string
			Port           int32
		}
		WorkloadIPs []struct{ IP string }
	}
	Status struct {
		Conditions []struct{ Type, Status string }
	}
}

// WorkloadSlices returns the required entries for an ExternalWorkload in the slices of a Service.
func WorkloadSlices(service *corev1.Service, w *ExternalWorkload) []Entry {
	if !Selects(service, w.Metadata.Labels) {
		return nil
	}
	ready := false
	for _, c := range w.Status.Conditions {
		ready = ready || c.Type == "Ready" && c.Status == "True"
	}
	state := stateText{ready: fmt.Sprint(ready), serving: fmt.Sprint(ready), terminating: "false", zone: w.Metadata.Labels[corev1.LabelTopologyZone]}
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		state.hostname = w.Metadata.Name
	}
	ports := workloadPorts(service, w)
	target := targetText("ExternalWorkload", w.Metadata.Namespace, w.Metadata.Name, w.Metadata.UID)
	var out []Entry
	for _, family := range Families(service) {
		var addresses []string
		for _, ip := range w.Spec.WorkloadIPs {
			if address := ofFamily(ip.IP, family); address != "" {
				addresses = append(addresses, address)
			}
		}
		if len(addresses) > 0 {
			out = append(out, Entry{Group: groupText(family, ports), Address: strings.Join(addresses, ","), Target: target, State: state.String(), Ready: ready})
		}
	}
	return out
}

func workloadPorts(service *corev1.Service, w *ExternalWorkload) []string {
	var out []string
	for _, p := range service.Spec.Ports {
		for _, have := range w.Spec.Ports {
			protocol := protocolOf(corev1.Protocol(have.Protocol))
			named := p.TargetPort.Type == intstr.String && p.TargetPort.StrVal == have.Name
			numbered := p.TargetPort.Type == intstr.Int && p.TargetPort.IntVal == have.Port
			if protocolOf(p.Protocol) == protocol && (named || numbered) {
				// Linkerd's writer omits the appProtocol (docs/spec/destination.md §8.4).
				out = append(out, portText(p.Name, string(protocol), have.Port, nil))
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// hasAddress reports whether a pod can be an endpoint (docs/spec/endpoints.md §5.3).
func hasAddress(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	return pod.Status.PodIP != "" || len(pod.Status.PodIPs) > 0
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func podHostname(service *corev1.Service, pod *corev1.Pod) string {
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == service.Name && pod.Namespace == service.Namespace {
		return pod.Spec.Hostname
	}
	return ""
}

func podTarget(pod *corev1.Pod) string {
	return targetText("Pod", pod.Namespace, pod.Name, string(pod.UID))
}

func targetText(kind, namespace, name, uid string) string {
	return kind + " " + namespace + "/" + name + " " + uid
}

// Families returns the families for which a Service must have a slice, even an empty one
// (docs/spec/endpoints.md §13.6).
func Families(service *corev1.Service) []discoveryv1.AddressType {
	var out []discoveryv1.AddressType
	for _, f := range service.Spec.IPFamilies {
		out = append(out, discoveryv1.AddressType(f))
	}
	if len(out) > 0 {
		return out
	}
	if ip, err := netip.ParseAddr(service.Spec.ClusterIP); err == nil {
		return []discoveryv1.AddressType{familyOf(ip)}
	}
	return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
}

// endpointsFamily returns the only family of Endpoints (docs/spec/endpoints.md §5.4).
func endpointsFamily(service *corev1.Service, pod *corev1.Pod) discoveryv1.AddressType {
	if len(service.Spec.IPFamilies) > 0 {
		return discoveryv1.AddressType(service.Spec.IPFamilies[0])
	}
	text := service.Spec.ClusterIP
	if text == "" || text == corev1.ClusterIPNone {
		text = pod.Status.PodIP
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return familyOf(ip)
	}
	return discoveryv1.AddressTypeIPv4
}

func familyOf(ip netip.Addr) discoveryv1.AddressType {
	if ip.Is4() {
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}

// podAddresses returns the addresses of a family.
func podAddresses(pod *corev1.Pod, family discoveryv1.AddressType) []string {
	var out []string
	for _, ip := range pod.Status.PodIPs {
		if address := ofFamily(ip.IP, family); address != "" {
			out = append(out, address)
		}
	}
	return out
}

// ofFamily returns the address in canonical form, or "" if it has another family.
func ofFamily(text string, family discoveryv1.AddressType) string {
	ip, err := netip.ParseAddr(text)
	if err != nil || familyOf(ip) != family {
		return ""
	}
	return ip.String()
}

// podPorts returns the ports of a Service that a pod has, in order (docs/spec/endpoints.md §5.6).
func podPorts(service *corev1.Service, pod *corev1.Pod) []string {
	var out []string
	for _, p := range service.Spec.Ports {
		if number, ok := podPort(pod, p); ok {
			out = append(out, portText(p.Name, string(protocolOf(p.Protocol)), number, p.AppProtocol))
		}
	}
	slices.Sort(out)
	return out
}

func podPort(pod *corev1.Pod, p corev1.ServicePort) (int32, bool) {
	if p.TargetPort.Type == intstr.Int {
		return p.TargetPort.IntVal, true
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	for _, c := range containers {
		for _, have := range c.Ports {
			if have.Name == p.TargetPort.StrVal && protocolOf(have.Protocol) == protocolOf(p.Protocol) {
				return have.ContainerPort, true
			}
		}
	}
	return 0, false
}

// protocolOf returns a protocol, or the default one.
func protocolOf(p corev1.Protocol) corev1.Protocol { return cmp.Or(p, corev1.ProtocolTCP) }

func portText(name, protocol string, number int32, application *string) string {
	return fmt.Sprintf("%s:%s:%d:%s", name, protocol, number, value(application))
}

func groupText(family discoveryv1.AddressType, ports []string) string {
	return string(family) + " " + strings.Join(ports, ",")
}

// stateText is the state of an entry. An empty condition is one that isn't set.
type stateText struct {
	ready, serving, terminating, hostname, node, zone, port string
}

func (s stateText) String() string {
	var b strings.Builder
	for _, part := range []struct{ key, value string }{
		{"ready", s.ready},
		{"serving", s.serving},
		{"terminating", s.terminating},
		{"hostname", s.hostname},
		{"node", s.node},
		{"zone", s.zone},
		{"port", s.port},
	} {
		if part.value != "" {
			b.WriteString(part.key + "=" + part.value + " ")
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}
