package watched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// A pod keeps the fields that endpoints depend on: of ports those with a name, of init containers
// those that keep running, and of the conditions of type Ready the first.
func TestTrimPod(t *testing.T) {
	since := metav1.Unix(1_700_000_000, 0)
	port := func(name string, number int32) []corev1.ContainerPort {
		return []corev1.ContainerPort{{ContainerPort: 1}, {Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Labels: map[string]string{"app": "web"}, DeletionTimestamp: &since},
		Spec: corev1.PodSpec{
			NodeName: "node", Hostname: "host", Subdomain: "sub",
			Containers:     []corev1.Container{{Ports: port("http", 80)}, {}, {Ports: port("admin", 81)}},
			InitContainers: []corev1.Container{{Ports: port("init", 82)}, {Ports: port("proxy", 83), RestartPolicy: &always}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: "True"}, {Type: corev1.PodReady, Status: "False", LastTransitionTime: since}, {Type: corev1.PodReady, Status: "True"},
			},
		},
	}
	got, problems := Pods().Trim(kube.Scope{}, pod)
	want := &Pod{
		Namespace: "shop", Name: "web", UID: "u", Labels: objectmeta.NewLabels(pod.Labels), Node: "node", Hostname: "host", Subdomain: "sub",
		IP: "10.0.0.1", IPs: []string{"10.0.0.1", "fd00::1"},
		Ports:        []ContainerPort{{"http", 80, corev1.ProtocolTCP}, {"admin", 81, corev1.ProtocolTCP}},
		SidecarPorts: []ContainerPort{{"proxy", 83, corev1.ProtocolTCP}},
		Finished:     true, Terminating: true, Ready: corev1.ConditionFalse, ReadySince: time.Unix(1_700_000_000, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("problems %v, pod (-want +got):\n%s", problems, diff)
	}
}

// Pods that follow one another share equal lists of ports.
func TestPodsSharePorts(t *testing.T) {
	kind := Pods()
	trimmed := func(names ...string) *Pod {
		var c corev1.Container
		for _, name := range names {
			c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: 80})
		}
		p, _ := kind.Trim(kube.Scope{}, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}})
		return p
	}
	first, same, other := trimmed("a", "b"), trimmed("a", "b"), trimmed("a", "c")
	if &first.Ports[0] != &same.Ports[0] {
		t.Error("equal lists are not shared")
	}
	if first.Ports[1].Name != "b" || other.Ports[1].Name != "c" {
		t.Errorf("ports %v and %v, want b and c", first.Ports, other.Ports)
	}
}

// Addresses that the API server refuses in slices are dropped. They prevented all writes for the Services of
// the pod (day2 B6).
func TestUnusableIPsAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		ip     string
		ips    []string
		wantIP string
		want   []string
		fields []string
	}{
		{"10.0.0.1", []string{"10.0.0.1", "fd00::1"}, "10.0.0.1", []string{"10.0.0.1", "fd00::1"}, nil},
		{"010.0.0.1", []string{"010.0.0.1"}, "010.0.0.1", []string{"010.0.0.1"}, nil},
		{"127.0.0.1", []string{"127.0.0.1"}, "", []string{}, []string{"status.podIP", "status.podIPs[0].ip"}},
		{"0.0.0.0", []string{"0.0.0.0", "fd00::1"}, "", []string{"fd00::1"}, []string{"status.podIP", "status.podIPs[0].ip"}},
		{"10.0.0.1", []string{"10.0.0.1", "fe80::1"}, "10.0.0.1", []string{"10.0.0.1"}, []string{"status.podIPs[1].ip"}},
		{"169.254.1.1", nil, "", nil, []string{"status.podIP"}},
		{"224.0.0.1", nil, "", nil, []string{"status.podIP"}},
		{"::ffff:127.0.0.1", nil, "", nil, []string{"status.podIP"}},
		{"nonsense", nil, "", nil, []string{"status.podIP"}},
		{"", nil, "", nil, nil},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: tt.ip}}
		for _, ip := range tt.ips {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		got, problems := Pods().Trim(kube.Scope{}, pod)
		if got.IP != tt.wantIP || !slices.Equal(got.IPs, tt.want) {
			t.Errorf("of %s and %v are left %s and %v, want %s and %v", tt.ip, tt.ips, got.IP, got.IPs, tt.wantIP, tt.want)
		}
		var fields []string
		for _, p := range problems {
			fields = append(fields, p.Field)
		}
		if !slices.Equal(fields, tt.fields) {
			t.Errorf("the problems of %s and %v are those of %v, want %v", tt.ip, tt.ips, fields, tt.fields)
		}
	}
}

// Each named port of a pod is compared with each named target of a Service, and an object has room for tens
// of thousands.
func TestPortsAreLimited(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}
	for i := range 2 * maxNamedPorts {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{Name: fmt.Sprint("p", i), ContainerPort: int32(i + 1)})
	}
	got, problems := Pods().Trim(kube.Scope{}, pod)
	if len(got.Ports) != maxNamedPorts || cap(got.Ports) >= 2*maxNamedPorts {
		t.Errorf("%d ports are kept, with room for %d, want %d", len(got.Ports), cap(got.Ports), maxNamedPorts)
	}
	if len(problems) != 1 || problems[0].Field != "spec.containers" {
		t.Errorf("problems are %v, want one about the containers", problems)
	}
}
