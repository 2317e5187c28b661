package watched

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WithObjects calls use with API objects of pods, in the same order, with the fields that endpoints depend
// on. Their memory is reused as soon as use has returned: use may keep strings of them, but no pointers into
// them, and must not change them.
func WithObjects(pods []*Pod, use func([]*corev1.Pod) error) error {
	o, _ := podObjectsPool.Get().(*podObjects)
	if o == nil {
		o = &podObjects{}
	}
	defer podObjectsPool.Put(o)
	return use(o.fill(pods))
}

// podObjectsPool has unused *podObjects. A corev1.Pod is several times as large as a Pod: a new object for
// each pod in each sync would be a fifth of all memory that a start allocates.
var podObjectsPool sync.Pool

// podObjects are reusable objects.
type podObjects struct {
	all  []*podObject
	list []*corev1.Pod
}

func (o *podObjects) fill(pods []*Pod) []*corev1.Pod {
	o.list = o.list[:0]
	for i, p := range pods {
		if i == len(o.all) {
			o.all = append(o.all, &podObject{})
		}
		o.list = append(o.list, o.all[i].fill(p))
	}
	return o.list
}

// podObject is an object, with the memory of its lists.
type podObject struct {
	pod                corev1.Pod
	ips                []corev1.PodIP
	container, sidecar [1]corev1.Container
	condition          [1]corev1.PodCondition
}

// deleted stands for the deletion timestamp of a pod. Endpoints depend only on its existence.
var deleted = metav1.Unix(1, 0)

// always makes an init container a sidecar.
var always = corev1.ContainerRestartPolicyAlways

// fill turns the object into that of p. It sets every field that any pod may set.
func (o *podObject) fill(p *Pod) *corev1.Pod {
	pod := &o.pod
	pod.Namespace, pod.Name, pod.UID = p.Namespace, p.Name, types.UID(p.UID)
	pod.DeletionTimestamp = nil
	if p.Terminating {
		pod.DeletionTimestamp = &deleted
	}
	pod.Spec.NodeName, pod.Spec.Hostname, pod.Spec.Subdomain = p.Node, p.Hostname, p.Subdomain
	pod.Spec.Containers = withPorts(&o.container, p.Ports)
	pod.Spec.InitContainers = withPorts(&o.sidecar, p.SidecarPorts)
	o.sidecar[0].RestartPolicy = &always
	pod.Status.Phase = ""
	if p.Finished {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.PodIP = p.IP
	o.ips = o.ips[:0]
	for _, ip := range p.IPs {
		o.ips = append(o.ips, corev1.PodIP{IP: ip})
	}
	pod.Status.PodIPs = o.ips
	pod.Status.Conditions = nil
	if p.Ready != "" {
		o.condition[0] = corev1.PodCondition{Type: corev1.PodReady, Status: p.Ready, LastTransitionTime: metav1.Time{Time: p.ReadySince}}
		pod.Status.Conditions = o.condition[:]
	}
	return pod
}

// withPorts returns a container with the ports, or none if there are no ports.
func withPorts(container *[1]corev1.Container, ports []ContainerPort) []corev1.Container {
	list := container[0].Ports[:0]
	for _, p := range ports {
		list = append(list, corev1.ContainerPort{Name: p.Name, ContainerPort: p.Number, Protocol: p.Protocol})
	}
	container[0].Ports = list
	if len(list) == 0 {
		return nil
	}
	return container[:]
}
