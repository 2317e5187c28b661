package simulation

import (
	"embed"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/dev/bench/workload"
)

const (
	// ScaledNamespaces is how many namespaces the Services of a simulated cluster are in.
	ScaledNamespaces = 100
	// PodsPerNode is how many pods a simulated node has.
	PodsPerNode = 100
	// replicaSetsPerService are the ReplicaSet whose pods run, and older ones.
	replicaSetsPerService = 3
)

// Size is a cluster whose objects are computed from their numbers. Pods are counted
// through all Services.
type Size struct {
	Services int
	// Pods is how many pods each Service has, all of them in one slice.
	Pods int
}

// PodCount returns the number of pods.
func (s Size) PodCount() int { return s.Services * s.Pods }

// NodeCount returns the number of nodes.
func (s Size) NodeCount() int { return (s.PodCount() + PodsPerNode - 1) / PodsPerNode }

// ServiceName returns the name of a Service.
func (s Size) ServiceName(svc int) string { return fmt.Sprintf("web-%d", svc) }

// NamespaceOf returns the namespace of a Service.
func (s Size) NamespaceOf(svc int) string { return fmt.Sprintf("team-%d", svc%ScaledNamespaces) }

// replicaSetName returns the name of a ReplicaSet of a Service; number 0 is the one that has pods.
func (s Size) replicaSetName(svc, number int) string {
	return fmt.Sprintf("web-%d-%08x", svc, 0x57b57f89+number)
}

// PodName returns the name of a pod.
func (s Size) PodName(pod int) string {
	return fmt.Sprintf("%s-%05x", s.replicaSetName(pod/s.Pods, 0), pod)
}

// NodeName returns the name of a node.
func (s Size) NodeName(node int) string { return fmt.Sprintf("node-%d.zone.example", node) }

// PodAddress returns the address of a pod, which is in 10.64.0.0/10.
func (s Size) PodAddress(pod int) netip.Addr { return addressFrom(10<<24|64<<16, pod) }

// ServiceAddress returns the cluster IP of a Service, which is in 172.16.0.0/12.
func (s Size) ServiceAddress(svc int) netip.Addr { return addressFrom(172<<24|16<<16, svc) }

func addressFrom(first uint32, i int) netip.Addr {
	a := first + uint32(i)
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

// Edited is what changed of an object; the zero value is an object as it began.
type Edited struct {
	// version is the resource version of the last change.
	version int
	// Flips is how often the readiness of something changed: of the pod, or of the endpoints of
	// a slice, one after the other.
	Flips int
	// labelled is how often the label of a pod changed that its rollout sets.
	labelled int
}

// Unready returns the endpoint of a slice that isn't ready, or -1.
func (e Edited) Unready(pods int) int {
	if e.Flips%2 == 0 {
		return -1
	}
	return e.Flips / 2 % pods
}

// generator makes the objects of a simulated cluster. It fills the same objects again and
// again; what it returns is valid until the next call. It belongs to one goroutine.
type generator struct {
	Size
	pod     *corev1.Pod
	slice   *discoveryv1.EndpointSlice
	service *corev1.Service
	node    *corev1.Node
	owner   *metav1.PartialObjectMetadata
}

// NewGenerator returns a generator of the objects of a cluster.
func NewGenerator(s Size) *generator {
	e := examples()
	g := &generator{
		Size: s, pod: e.pod.DeepCopy(), slice: e.slice.DeepCopy(), service: e.service.DeepCopy(), node: e.node.DeepCopy(), owner: e.owner.DeepCopy(),
	}
	g.slice.Endpoints = nil
	for range s.Pods {
		g.slice.Endpoints = append(g.slice.Endpoints, *e.slice.Endpoints[0].DeepCopy())
	}
	return g
}

//go:embed objects
var manifests embed.FS

// examples returns objects as a cluster has them, with what nobody reads: that is most of each
// object. A slice has one endpoint.
var examples = sync.OnceValue(func() generator {
	e := generator{
		pod: example[corev1.Pod]("pod"), slice: example[discoveryv1.EndpointSlice]("slice"), service: example[corev1.Service]("service"),
		node: example[corev1.Node]("node"), owner: example[metav1.PartialObjectMetadata]("replicaset"),
	}
	for i := range 40 {
		image := fmt.Sprintf("registry.example.org/platform/image-%d", i)
		e.node.Status.Images = append(e.node.Status.Images, corev1.ContainerImage{Names: []string{image + "@sha256:" + strings.Repeat("c0ffee12", 8), image + ":v1.2.3"}, SizeBytes: 123456789})
	}
	return e
})

// example reads a manifest.
func example[T any](name string) *T {
	text, err := manifests.ReadFile("objects/" + name + ".yaml")
	object := new(T)
	if err == nil {
		err = yaml.UnmarshalStrict(text, object)
	}
	if err != nil {
		panic(fmt.Sprintf("read the manifest of a %s: %v", name, err)) // TestSimulatedObjects reads all
	}
	return object
}

// name sets what tells an object from others of its kind.
func name(m *metav1.ObjectMeta, kind, number int, namespace, name string, e Edited) {
	m.Namespace, m.Name = namespace, name
	m.UID = types.UID(fmt.Sprintf("%08x-5bc2-4d1e-9a37-%012x", kind, number))
	m.ResourceVersion = fmt.Sprint(firstVersion + number)
	if e.version > 0 {
		m.ResourceVersion = fmt.Sprint(e.version)
	}
}

// PodAt returns a pod.
func (g *generator) PodAt(i int, e Edited) *corev1.Pod {
	p, svc := g.pod, i/g.Pods
	name(&p.ObjectMeta, 1, i, g.NamespaceOf(svc), g.PodName(i), e)
	app := g.ServiceName(svc)
	p.Labels["app"], p.Labels["linkerd.io/proxy-deployment"] = app, app
	p.Labels["rollout"] = fmt.Sprint(e.labelled % 2)
	p.OwnerReferences[0].Name = g.replicaSetName(svc, 0)
	p.OwnerReferences[0].UID = types.UID(fmt.Sprintf("%08x-5bc2-4d1e-9a37-%012x", 5, svc*replicaSetsPerService))
	p.Spec.NodeName = g.NodeName(i / PodsPerNode)
	p.Status.PodIP = g.PodAddress(i).String()
	p.Status.PodIPs[0].IP = p.Status.PodIP
	p.Status.HostIP = addressFrom(192<<24|168<<16, i/PodsPerNode).String()
	p.Status.HostIPs[0].IP = p.Status.HostIP
	ready := corev1.ConditionTrue
	if e.Flips%2 == 1 {
		ready = corev1.ConditionFalse
	}
	p.Status.Conditions[2].Status, p.Status.Conditions[3].Status = ready, ready
	return p
}

// SliceAt returns the slice of a Service.
func (g *generator) SliceAt(svc int, e Edited) *discoveryv1.EndpointSlice {
	s, namespace := g.slice, g.NamespaceOf(svc)
	name(&s.ObjectMeta, 2, svc, namespace, g.ServiceName(svc)+"-x7k2p", e)
	s.Labels[discoveryv1.LabelServiceName] = g.ServiceName(svc)
	s.OwnerReferences[0].Name = g.ServiceName(svc)
	unready := e.Unready(g.Pods)
	for i := range s.Endpoints {
		pod, to := svc*g.Pods+i, &s.Endpoints[i]
		to.Addresses[0] = g.PodAddress(pod).String()
		*to.Conditions.Ready = i != unready
		*to.Conditions.Serving = i != unready
		*to.NodeName, *to.Zone = g.NodeName(pod/PodsPerNode), workload.ZoneName(pod/PodsPerNode)
		to.TargetRef.Namespace, to.TargetRef.Name = namespace, g.PodName(pod)
		to.TargetRef.UID = types.UID(fmt.Sprintf("%08x-5bc2-4d1e-9a37-%012x", 1, pod))
	}
	return s
}

// ServiceAt returns a Service.
func (g *generator) ServiceAt(svc int, e Edited) *corev1.Service {
	s := g.service
	name(&s.ObjectMeta, 3, svc, g.NamespaceOf(svc), g.ServiceName(svc), e)
	s.Labels["app"], s.Spec.Selector["app"] = s.Name, s.Name
	s.Spec.ClusterIP = g.ServiceAddress(svc).String()
	s.Spec.ClusterIPs[0] = s.Spec.ClusterIP
	return s
}

// NodeAt returns a node.
func (g *generator) NodeAt(i int, e Edited) *corev1.Node {
	n := g.node
	name(&n.ObjectMeta, 4, i, "", g.NodeName(i), e)
	n.Labels[corev1.LabelHostname], n.Labels[corev1.LabelTopologyZone] = n.Name, workload.ZoneName(i)
	n.Status.Addresses[0].Address = addressFrom(192<<24|168<<16, i).String()
	return n
}

func (g *generator) replicaSetAt(i int, e Edited) *metav1.PartialObjectMetadata {
	o, svc := g.owner, i/replicaSetsPerService
	name(&o.ObjectMeta, 5, i, g.NamespaceOf(svc), g.replicaSetName(svc, i%replicaSetsPerService), e)
	o.Labels = map[string]string{"app": g.ServiceName(svc), appsv1.DefaultDeploymentUniqueLabelKey: o.Name[len(o.Name)-8:]}
	o.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "Deployment", Name: g.ServiceName(svc), UID: "9f6c1c1e-5bc2-4d1e-9a37-00000000beef", Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	return o
}

// String describes the cluster.
func (s Size) String() string {
	return fmt.Sprintf("%d Services, %d pods, %d nodes, %d ReplicaSets", s.Services, s.PodCount(), s.NodeCount(), s.Services*replicaSetsPerService)
}
