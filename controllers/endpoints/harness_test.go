package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
)

func pointer[T any](v T) *T { return &v }

func edited[T any](v *T, edits []func(*T)) *T {
	for _, edit := range edits {
		edit(v)
	}
	return v
}

// serviceFoo returns the Service "svc" of §16. It has no cluster IP, so it counts as headless.
func serviceFoo(edits ...func(*corev1.Service)) *corev1.Service {
	return edited(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "foo"},
		Spec: corev1.ServiceSpec{
			Selector:   map[string]string{"foo": "bar"},
			Ports:      []corev1.ServicePort{servicePort("", 80, 8080, corev1.ProtocolTCP)},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
		},
	}, edits)
}

func servicePort(name string, port, target int, protocol corev1.Protocol) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: int32(port), TargetPort: intstr.FromInt(target), Protocol: protocol}
}

func namedTarget(name, target string) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: 80, TargetPort: intstr.FromString(target), Protocol: corev1.ProtocolTCP}
}

func clusterIP(ip string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.ClusterIP = ip }
}

func withPorts(ports ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = ports }
}

func serviceLabels(pairs ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Labels = mapOf(pairs...) }
}

func publishNotReady(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }

func mapOf(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// pod returns the ready pod i of §16.
func pod(i int, edits ...func(*corev1.Pod)) *corev1.Pod {
	ip := fmt.Sprintf("1.2.%d.%d", 3+(4+i)/256, (4+i)%256)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("pod%d", i), UID: types.UID(fmt.Sprintf("uid-%04d", i)),
			Labels: map[string]string{"foo": "bar"},
		},
		Spec: corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	return edited(p, edits)
}

func manyPods(n int, edits ...func(*corev1.Pod)) []*corev1.Pod {
	var list []*corev1.Pod
	for i := range n {
		list = append(list, pod(i, edits...))
	}
	return list
}

func pods(list ...*corev1.Pod) []*corev1.Pod { return list }

func notReady(p *corev1.Pod) {
	for i := range p.Status.Conditions {
		p.Status.Conditions[i].Status = corev1.ConditionFalse
	}
}

func terminating(p *corev1.Pod) {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func podIPs(ips ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.PodIP, p.Status.PodIPs = "", nil
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		if len(ips) > 0 {
			p.Status.PodIP = ips[0]
		}
	}
}

// exposing gives a pod a container with a port.
func exposing(name string, number int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		port := corev1.ContainerPort{Name: name, ContainerPort: int32(number), Protocol: corev1.ProtocolTCP}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{port}})
	}
}

// stored returns Endpoints as the table has them.
func stored(edits ...func(*corev1.Endpoints)) *corev1.Endpoints {
	return edited(&corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "foo", UID: "uid", ResourceVersion: "1"},
	}, edits)
}

func storedLabels(pairs ...string) func(*corev1.Endpoints) {
	return func(ep *corev1.Endpoints) { ep.Labels = mapOf(pairs...) }
}

func annotated(pairs ...string) func(*corev1.Endpoints) {
	return func(ep *corev1.Endpoints) { ep.Annotations = mapOf(pairs...) }
}

func holding(list ...corev1.EndpointSubset) func(*corev1.Endpoints) {
	return func(ep *corev1.Endpoints) { ep.Subsets = list }
}

// The labels of Endpoints of Services with a cluster IP and without one.
var (
	managed  = storedLabels(ManagedByLabel, ManagedBy)
	headless = storedLabels(ManagedByLabel, ManagedBy, HeadlessLabel, "")
)

// subset returns the subset of pods with ports.
func subset(ready, unready []*corev1.Pod, ports ...corev1.EndpointPort) corev1.EndpointSubset {
	return corev1.EndpointSubset{Addresses: addressesOf(ready), NotReadyAddresses: addressesOf(unready), Ports: ports}
}

func addressesOf(list []*corev1.Pod) []corev1.EndpointAddress {
	var addresses []corev1.EndpointAddress
	for _, p := range list {
		addresses = append(addresses, corev1.EndpointAddress{
			IP: p.Status.PodIP, NodeName: pointer(p.Spec.NodeName),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		})
	}
	return addresses
}

var tcp8080 = port("", 8080, corev1.ProtocolTCP)

func port(name string, number int32, protocol corev1.Protocol) corev1.EndpointPort {
	return corev1.EndpointPort{Name: name, Port: number, Protocol: protocol}
}

// planCase is one sync of a Service.
type planCase struct {
	service *corev1.Service
	pods    []*corev1.Pod
	current *corev1.Endpoints
	trigger time.Time
	action  Action
	// The following fields are compared unless the action is None.
	subsets     []corev1.EndpointSubset
	labels      map[string]string
	annotations map[string]string
}

func runPlans(t *testing.T, cases map[string]planCase) {
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) { runPlan(t, cases[name]) })
	}
}

func runPlan(t *testing.T, tc planCase) {
	got := planned(t, tc.service, tc.pods, tc.current, tc.trigger)
	if got.Action != tc.action {
		t.Fatalf("action %v, want %v", got.Action, tc.action)
	}
	if got.Action == None {
		return
	}
	want := &corev1.Endpoints{Subsets: tc.subsets}
	want.Name = tc.service.Name
	if tc.current != nil {
		want.ObjectMeta = *tc.current.ObjectMeta.DeepCopy()
	}
	want.Labels, want.Annotations = tc.labels, tc.annotations
	if want.Labels == nil {
		want.Labels = mapOf(ManagedByLabel, ManagedBy, HeadlessLabel, "")
	}
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	if diff := cmp.Diff(want, got.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

type plan struct {
	Action    Action
	Endpoints *corev1.Endpoints
}

// failing is a *testing.T or a *rapid.T.
type failing interface {
	Errorf(format string, args ...any)
}

// watchedPods returns the pods as the table keeps them.
func watchedPods(list []*corev1.Pod) []*watched.Pod {
	trim := watched.Pods().Trim
	var all []*watched.Pod
	for _, p := range list {
		k, _ := trim(kube.Scope{}, p)
		all = append(all, k)
	}
	return all
}

// planned returns the plan. It fails the test if Plan changes its arguments, or if planning again isn't a
// no-op.
func planned(t failing, service *corev1.Service, list []*corev1.Pod, current *corev1.Endpoints, trigger time.Time) plan {
	type arguments struct {
		Service   *corev1.Service
		Endpoints *corev1.Endpoints
		Pods      []*watched.Pod
	}
	pods := watchedPods(list)
	before := arguments{service.DeepCopy(), current.DeepCopy(), watchedPods(list)}
	var got plan
	got.Action, got.Endpoints = Plan(service, pods, current, trigger)
	if diff := cmp.Diff(before, arguments{service, current, pods}); diff != "" {
		t.Errorf("arguments (-before +after):\n%s", diff)
	}
	if (got.Action == None) != (got.Endpoints == nil) {
		t.Errorf("action %v with endpoints %v", got.Action, got.Endpoints)
	}
	if got.Endpoints != nil {
		again := got.Endpoints.DeepCopy()
		again.ResourceVersion = "2"
		if action, ep := Plan(service, pods, again, trigger); action != None {
			t.Errorf("planning again gives %v of %v", action, ep)
		}
	}
	return got
}
