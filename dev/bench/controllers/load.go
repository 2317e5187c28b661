package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// layoutNodes is how many nodes the pods of a layout are on.
const layoutNodes = 100

// podHash is what a Deployment would put into the names and labels of its pods.
const podHash = "57b57f8947"

// The pods of a layout are counted through all Services.

// PodCount returns the number of pods.
func (l Layout) PodCount() int { return l.Services * l.Pods }

func (l Layout) serviceOf(pod int) int { return pod / l.Pods }

// NamespaceOf returns the namespace of a Service.
func (l Layout) NamespaceOf(svc int) string { return fmt.Sprintf("bench-%d", svc%l.Namespaces) }

// ServiceName returns the name of a Service.
func (l Layout) ServiceName(svc int) string { return fmt.Sprintf("web-%d", svc) }

func (l Layout) serviceKey(svc int) string { return l.NamespaceOf(svc) + "/" + l.ServiceName(svc) }

// PodName returns the name of a pod.
func (l Layout) PodName(pod int) string {
	return fmt.Sprintf("web-%d-%s-%05d", l.serviceOf(pod), podHash, pod)
}

// PodNamespace returns the namespace of a pod.
func (l Layout) PodNamespace(pod int) string { return l.NamespaceOf(l.serviceOf(pod)) }

// Load creates everything but Endpoints and EndpointSlices.
func (l Layout) Load(ctx context.Context, client *kubernetes.Clientset) error {
	err := measure.ForEach(ctx, l.Namespaces, func(ctx context.Context, i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.NamespaceOf(i)}}
		_, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = measure.ForEach(ctx, layoutNodes, func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Nodes().Create(ctx, layoutNode(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = measure.ForEach(ctx, l.Services, func(ctx context.Context, i int) error {
		s := l.Service(i)
		_, err := client.CoreV1().Services(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return measure.ForEach(ctx, l.PodCount(), func(ctx context.Context, i int) error {
		return l.CreatePod(ctx, client, i)
	})
}

// CreatePod creates a pod that is ready.
func (l Layout) CreatePod(ctx context.Context, client *kubernetes.Clientset, i int) error {
	p := l.pod(i)
	if _, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return err
	}
	return l.SetReady(ctx, client, i, corev1.ConditionTrue)
}

func layoutNode(i int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{
			corev1.LabelTopologyZone: workload.ZoneName(i), corev1.LabelHostname: fmt.Sprintf("node-%d", i),
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// Service returns a Service.
func (l Layout) Service(i int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.NamespaceOf(i), Name: l.ServiceName(i), Labels: map[string]string{"app": l.ServiceName(i)}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": l.ServiceName(i)},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}},
		},
	}
}

func (l Layout) podMeta(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: l.PodNamespace(i), Name: l.PodName(i),
		Labels: map[string]string{"app": l.ServiceName(l.serviceOf(i)), "pod-template-hash": podHash},
	}
}

func (l Layout) pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: l.podMeta(i),
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%layoutNodes),
			Containers: []corev1.Container{
				{Name: "app", Image: "app", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}},
			},
		},
	}
}

// SetReady writes the status of a pod as a kubelet would, with nothing read before.
func (l Layout) SetReady(ctx context.Context, client *kubernetes.Clientset, i int, condition corev1.ConditionStatus) error {
	ip := workload.PodIP(i).String()
	now := metav1.NewTime(time.Now())
	p := &corev1.Pod{
		ObjectMeta: l.podMeta(i),
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &now,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.ContainersReady, Status: condition, LastTransitionTime: now},
				{Type: corev1.PodReady, Status: condition, LastTransitionTime: now},
			},
		},
	}
	if _, err := client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the readiness of pod %s: %w", p.Name, err)
	}
	return nil
}

// clear removes all Endpoints and EndpointSlices.
func (l Layout) clear(ctx context.Context, client *kubernetes.Clientset) error {
	return measure.ForEach(ctx, l.Namespaces, func(ctx context.Context, i int) error {
		ns := l.NamespaceOf(i)
		if err := client.CoreV1().Endpoints(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("remove Endpoints: %w", err)
		}
		if err := client.DiscoveryV1().EndpointSlices(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("remove EndpointSlices: %w", err)
		}
		return nil
	})
}
