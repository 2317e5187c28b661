package controllers_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// service creates a Service with a cluster IP that selects app=<name> and has one port, 80 to 8080.
func (s *fixture) service(name string, edits ...func(*corev1.Service)) *corev1.Service {
	s.Helper()
	return must[*corev1.Service](s)(s.client.CoreV1().Services(s.ns).Create(s.Context(), newService(name, edits...), metav1.CreateOptions{}))
}

func newService(name string, edits ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{port("", 80, 8080)}},
	}
	for _, edit := range edits {
		edit(service)
	}
	return service
}

// port returns a port of a Service, whose target is a number or a name.
func port(name string, number int32, target any) corev1.ServicePort {
	p := corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
	switch target := target.(type) {
	case int:
		p.TargetPort = intstr.FromInt(target)
	case string:
		p.TargetPort = intstr.FromString(target)
	}
	return p
}

func over(p corev1.ServicePort, protocol corev1.Protocol) corev1.ServicePort {
	p.Protocol = protocol
	return p
}

func ports(list ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = list }
}

func headless(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }

func noSelector(s *corev1.Service) { s.Spec.Selector = nil }

func publishing(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }

func selecting(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Selector = map[string]string{key: value} }
}

func families(list ...corev1.IPFamily) func(*corev1.Service) {
	return func(s *corev1.Service) {
		policy := corev1.IPFamilyPolicySingleStack
		if len(list) > 1 {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = list, &policy
	}
}

func externalName(s *corev1.Service) {
	s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.org"
}

func serviceLabel(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { metav1.SetMetaDataLabel(&s.ObjectMeta, key, value) }
}

func serviceAnnotation(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, value) }
}

func (s *fixture) editService(name string, edits ...func(*corev1.Service)) {
	s.Helper()
	edit(s, s.client.CoreV1().Services(s.ns), name, edits...)
}

func (s *fixture) deleteService(name string) {
	s.Helper()
	s.must(s.client.CoreV1().Services(s.ns).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

// unfinalizeService removes the finalizers of a Service at the end of a test.
func (s *fixture) unfinalizeService(name string) {
	_, err := s.client.CoreV1().Services(s.ns).Patch(context.Background(), name, types.MergePatchType, noFinalizers, metav1.PatchOptions{})
	if err != nil {
		s.Error(err)
	}
}

var noFinalizers = []byte(`{"metadata":{"finalizers":null}}`)

// editor is a client of one kind in one namespace.
type editor[T any] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
}

// edit changes an object, and retries after conflicts.
func edit[T any](s *fixture, client editor[T], name string, edits ...func(T)) T {
	s.Helper()
	for {
		object := must[T](s)(client.Get(s.Context(), name, metav1.GetOptions{}))
		for _, edit := range edits {
			edit(object)
		}
		object, err := client.Update(s.Context(), object, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			s.must(err)
			return object
		}
	}
}

// pod creates a ready pod with the label app on node-a.
func (s *fixture) pod(name, app, ip string, edits ...func(*corev1.Pod)) {
	s.Helper()
	s.must(makePod(s.Context(), s.client, newPod(s.ns, name, app, ip, edits...)))
}

func newPod(ns, name, app, ip string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName:   nodeA,
			Containers: []corev1.Container{{Name: "main", Image: "any"}},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	podIPs(ip)(pod)
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// makePod creates a pod, and its status as a kubelet does.
func makePod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	status := pod.Status
	made, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status = status
	_, err = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func podIPs(ips ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.PodIP, p.Status.PodIPs = ips[0], nil
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

func ready(yes bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions[0].Status = corev1.ConditionFalse
		if yes {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		}
	}
}

func notReady(p *corev1.Pod) { ready(false)(p) }

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

// exposing gives a pod a container with a port.
func exposing(name string, number int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", len(p.Spec.Containers)), Image: "any",
			Ports: []corev1.ContainerPort{{Name: name, ContainerPort: number}},
		})
	}
}

func onNode(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = name }
}

func podLabel(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) }
}

func (s *fixture) editPod(name string, edits ...func(*corev1.Pod)) {
	s.Helper()
	edit(s, s.client.CoreV1().Pods(s.ns), name, edits...)
}

// podStatus is a client that updates the status of pods.
type podStatus struct{ *fixture }

func (p podStatus) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Pod, error) {
	return p.client.CoreV1().Pods(p.ns).Get(ctx, name, o)
}

func (p podStatus) Update(ctx context.Context, pod *corev1.Pod, o metav1.UpdateOptions) (*corev1.Pod, error) {
	return p.client.CoreV1().Pods(p.ns).UpdateStatus(ctx, pod, o)
}

func (s *fixture) editPodStatus(name string, edits ...func(*corev1.Pod)) {
	s.Helper()
	edit(s, podStatus{s}, name, edits...)
}

// deletePod deletes a pod at once or, with a grace period, marks it as terminating, because there is no
// kubelet to delete it.
func (s *fixture) deletePod(name string, grace int64) {
	s.Helper()
	s.must(s.client.CoreV1().Pods(s.ns).Delete(s.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
}
