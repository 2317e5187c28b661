package workload

//lint:file-ignore SA1019 Endpoints are deprecated, and mirrored all the same.

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/api/policy"
	"github.com/signpostd/signpost/api/workload"
)

// Names that validators need.
const (
	// Nodes is the number of nodes: node-0 and so on, in the zones zone-0 and zone-1.
	Nodes = 4
	// ManagedBy is the value of the managed-by label of the slices of own-N.
	ManagedBy = "person.lab.example"
	// Finalizer keeps some pods terminating until an edit removes it.
	Finalizer = "lab.example/terminating"

	hostnameAnnotation = "external-dns.alpha.kubernetes.io/hostname"
	ttlAnnotation      = "external-dns.alpha.kubernetes.io/ttl"
	opaqueAnnotation   = "config.linkerd.io/opaque-ports"
)

func kind(group, version, kind string) metav1.TypeMeta {
	if group != "" {
		version = group + "/" + version
	}
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func (s *simulation) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: s.settings.Namespace}
}

func newNode(i int) *corev1.Node {
	return &corev1.Node{
		TypeMeta: kind("", "v1", "Node"),
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{
			corev1.LabelHostname: nodeName(i), corev1.LabelTopologyZone: zoneOf(i),
		}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(stamp(0)), Reason: "Lab"}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress(i)}},
		},
	}
}

func zoneOf(i int) string      { return fmt.Sprint("zone-", i%2) }
func nodeName(i int) string    { return fmt.Sprint("node-", i) }
func nodeAddress(i int) string { return fmt.Sprint("10.63.0.", i+1) }

// newService returns a Service with port 80, whose target is the port http of its pods.
func (s *simulation) newService(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		TypeMeta: kind("", "v1", "Service"), ObjectMeta: s.meta(name),
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: selector, Ports: []corev1.ServicePort{httpPort()}},
	}
}

func httpPort() corev1.ServicePort {
	return corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}
}

// newPod returns a pod of an app that is bound to a node and hasn't started. port is the number of its port
// http.
func (s *simulation) newPod(name, app string, node int, port int32) *corev1.Pod {
	meta := s.meta(name)
	// The label of the zone is set here because the API server adds it to a new pod only, and a pod may get
	// other labels later.
	meta.Labels = map[string]string{"app": app, "track": "stable", corev1.LabelTopologyZone: zoneOf(node)}
	no := false
	return &corev1.Pod{
		TypeMeta: kind("", "v1", "Pod"), ObjectMeta: meta,
		Spec: corev1.PodSpec{
			NodeName: nodeName(node), AutomountServiceAccountToken: &no,
			Containers: []corev1.Container{{
				Name: "app", Image: "lab.example/app",
				Ports: []corev1.ContainerPort{
					{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP},
					{Name: "admin", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
				},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func podCondition(ready bool, at time.Duration) []corev1.PodCondition {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(stamp(at))}}
}

func (s *simulation) newWorkload(name, app string, port int32) *workload.ExternalWorkload {
	meta := s.meta(name)
	meta.Labels = map[string]string{"app": app}
	return &workload.ExternalWorkload{
		TypeMeta: kind(workload.SchemeGroupVersion.Group, workload.SchemeGroupVersion.Version, "ExternalWorkload"), ObjectMeta: meta,
		Spec: workload.ExternalWorkloadSpec{
			MeshTLS:     workload.MeshTLS{Identity: "spiffe://lab.example/" + name, ServerName: name + ".lab.example"},
			Ports:       []workload.Port{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}},
			WorkloadIPs: []workload.WorkloadIP{{IP: s.newAddress()}},
		},
	}
}

func workloadCondition(ready bool, at time.Duration) []workload.Condition {
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	changed := metav1.NewTime(stamp(at))
	return []workload.Condition{{Type: workload.ConditionReady, Status: status, LastTransitionTime: &changed}}
}

// newSlice returns a slice of the person for a Service without selector.
func (s *simulation) newSlice(service string) *discoveryv1.EndpointSlice {
	meta := s.meta(service + "-person")
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: ManagedBy}
	port, portName, protocol := int32(8080), "http", corev1.ProtocolTCP
	return &discoveryv1.EndpointSlice{
		TypeMeta: kind("discovery.k8s.io", "v1", "EndpointSlice"), ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &port, Protocol: &protocol}},
	}
}

func (s *simulation) newEndpoints(name string) *corev1.Endpoints {
	return &corev1.Endpoints{TypeMeta: kind("", "v1", "Endpoints"), ObjectMeta: s.meta(name)}
}

func (s *simulation) newDNSEndpoint(name string) *externaldns.DNSEndpoint {
	return &externaldns.DNSEndpoint{
		TypeMeta:   kind(externaldns.SchemeGroupVersion.Group, externaldns.SchemeGroupVersion.Version, "DNSEndpoint"),
		ObjectMeta: s.meta(name),
	}
}

func (s *simulation) newProfile(service string) *linkerd.ServiceProfile {
	return &linkerd.ServiceProfile{
		TypeMeta:   kind(linkerd.SchemeGroupVersion.Group, linkerd.SchemeGroupVersion.Version, "ServiceProfile"),
		ObjectMeta: s.meta(service + "." + s.settings.Namespace + ".svc.cluster.local"),
	}
}

// newServer returns a Server for the port http of the pods of an app.
func (s *simulation) newServer(app string) *policy.Server {
	return &policy.Server{
		TypeMeta:   kind(policy.SchemeGroupVersion.Group, policy.SchemeGroupVersion.Version, "Server"),
		ObjectMeta: s.meta(app + "-http"),
		Spec: policy.ServerSpec{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Port: intstr.FromString("http"),
			ProxyProtocol: policy.ProxyProtocolOpaque, AccessPolicy: "all-unauthenticated",
		},
	}
}

// firstAddress is the start of the address range 10.64.0.0/10.
var firstAddress = netip.AddrFrom4([4]byte{10, 64, 0, 0})

// newAddress returns an address that was not used in this run.
func (s *simulation) newAddress() string {
	s.address++
	bytes := firstAddress.As4()
	// The second byte has 6 bits of the number, because 4 million addresses last for days.
	bytes[1] |= byte(s.address>>16) & 0x3f
	bytes[2], bytes[3] = byte(s.address>>8), byte(s.address)
	return netip.AddrFrom4(bytes).String()
}
