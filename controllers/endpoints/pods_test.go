package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// addressesIn counts the addresses of an update.
func addressesIn(p plan) (ready, notReady int) {
	for _, s := range p.Endpoints.Subsets {
		ready += len(s.Addresses)
		notReady += len(s.NotReadyAddresses)
	}
	return ready, notReady
}

func unready(p *corev1.Pod) { p.Status.Conditions = nil }

// counts are the numbers of ready and unready addresses.
type counts struct{ ready, notReady int }

// Cases EP-33 to EP-46, each with and without publishNotReadyAddresses.
var readinessCases = []struct {
	id             string
	pod            *corev1.Pod
	ignored, heard counts
}{
	{"EP-33", pod(0), counts{1, 0}, counts{1, 0}},
	{"EP-34", pod(0, terminating), counts{}, counts{1, 0}},
	{"EP-35", pod(0, phase(corev1.PodUnknown)), counts{1, 0}, counts{1, 0}},
	{"EP-36", pod(0, phase(corev1.PodUnknown), terminating), counts{}, counts{1, 0}},
	{"EP-37", pod(0, phase(corev1.PodPending)), counts{1, 0}, counts{1, 0}},
	{"EP-38", pod(0, phase(corev1.PodPending), terminating), counts{}, counts{1, 0}},
	{"EP-39", pod(0, phase(corev1.PodUnknown), notReady), counts{0, 1}, counts{1, 0}},
	{"EP-40", pod(0, phase(corev1.PodPending), notReady), counts{0, 1}, counts{1, 0}},
	{"EP-41", pod(0, phase(corev1.PodFailed), notReady), counts{}, counts{}},
	{"EP-42", pod(0, phase(corev1.PodSucceeded), notReady), counts{}, counts{}},
	{"EP-43", pod(0, notReady), counts{0, 1}, counts{1, 0}},
	{"EP-44", pod(0, notReady, terminating), counts{}, counts{1, 0}},
	{"EP-45", pod(0, phase(corev1.PodUnknown), notReady, terminating), counts{}, counts{1, 0}},
	{"EP-46", pod(0, phase(corev1.PodPending), notReady, terminating), counts{}, counts{1, 0}},
	{"no condition", pod(0, unready), counts{0, 1}, counts{1, 0}},
	{"no phase", pod(0, phase("")), counts{1, 0}, counts{1, 0}},
	{"no IP", pod(0, podIPs()), counts{}, counts{}},
}

func TestPlanReadiness(t *testing.T) {
	for _, tc := range readinessCases {
		for name, want := range map[string]counts{"": tc.ignored, " published": tc.heard} {
			t.Run(tc.id+name, func(t *testing.T) {
				service := serviceFoo(cluster)
				if name != "" {
					publishNotReady(service)
				}
				var got counts
				got.ready, got.notReady = addressesIn(planned(t, service, pods(tc.pod), nil, time.Time{}))
				if got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

const (
	v4, v6     = "1.2.3.4", "2000::1"
	v4long     = "1.2.3.04"
	v6long     = "2000::01"
	v4IP, v6IP = "10.96.0.1", "fd00::1"
)

func families(list ...corev1.IPFamily) []corev1.IPFamily { return list }

// Cases EP-47 to EP-60.
var familyCases = []struct {
	id        string
	clusterIP string
	families  []corev1.IPFamily
	ips       []string
	want      string // empty: the pod is left out
}{
	{"EP-47", v4IP, families(corev1.IPv4Protocol), []string{v4long}, v4},
	{"EP-48", v4IP, families(corev1.IPv4Protocol), []string{v4long, v6}, v4},
	{"EP-49", v4IP, families(corev1.IPv4Protocol), []string{v6long, v4}, v4},
	{"EP-50", "None", families(corev1.IPv4Protocol), []string{v4long}, v4},
	{"EP-51", "None", families(corev1.IPv4Protocol), []string{v4long, v6}, v4},
	{"EP-52", v6IP, families(corev1.IPv6Protocol), []string{v4long, v6}, v6},
	{"EP-53", "None", families(corev1.IPv6Protocol), []string{v6long}, v6},
	{"EP-54", "None", families(corev1.IPv6Protocol), []string{v4long, v6}, v6},
	{"EP-55", v6IP, families(corev1.IPv6Protocol), []string{v4long}, ""},
	{"EP-56", v4IP, nil, []string{v4long}, v4},
	{"EP-57", v6IP, nil, []string{v6long}, v6},
	{"EP-58", v4IP, nil, []string{v6long}, ""},
	{"EP-59", "None", nil, []string{v4long}, v4},
	{"EP-60", "None", nil, []string{v6long}, v6},
	{"both families", "None", families(corev1.IPv6Protocol, corev1.IPv4Protocol), []string{v4, v6}, v6},
	{"no cluster IP", "", nil, []string{v6, v4}, v6},
	{"K14", v4IP, families(corev1.IPv4Protocol), []string{"none", v4}, v4},
	{"K14 nothing else", v4IP, families(corev1.IPv4Protocol), []string{"none"}, ""},
	{"a zone", v6IP, families(corev1.IPv6Protocol), []string{"fe80::1%eth0"}, ""},
	{"IPv4 as IPv6", v4IP, families(corev1.IPv4Protocol), []string{"::ffff:1.2.3.4"}, v4},
	{"leading zeros", v6IP, families(corev1.IPv6Protocol), []string{"2000:0:0:0::0001"}, v6},
}

func TestPlanFamilies(t *testing.T) {
	for _, tc := range familyCases {
		t.Run(tc.id, func(t *testing.T) {
			service := serviceFoo(clusterIP(tc.clusterIP))
			service.Spec.IPFamilies = tc.families
			p := pod(0, podIPs(tc.ips...))
			var want []corev1.EndpointSubset
			if tc.want != "" {
				want = append(want, subset(pods(p), nil, tcp8080))
				want[0].Addresses[0].IP = tc.want
			}
			got := planned(t, service, pods(p), nil, time.Time{})
			if diff := cmp.Diff(want, got.Endpoints.Subsets); diff != "" {
				t.Errorf("subsets (-want +got):\n%s", diff)
			}
		})
	}
}

// An address that is only in podIP isn't used (§5.4).
func TestPlanUsesListOfIPs(t *testing.T) {
	p := pod(0, func(p *corev1.Pod) { p.Status.PodIPs = nil })
	if got := planned(t, serviceFoo(), pods(p), nil, time.Time{}); len(got.Endpoints.Subsets) > 0 {
		t.Errorf("got %v, want no subsets", got.Endpoints.Subsets)
	}
}

func TestPlanAddressFields(t *testing.T) {
	hostname := func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "host", "foo" }
	for name, tc := range map[string]struct {
		edit     func(*corev1.Pod)
		hostname string
		node     *string
	}{
		"PH-04 all match":          {hostname, "host", pointer("node")},
		"PH-04 no hostname":        {func(p *corev1.Pod) { p.Spec.Subdomain = "foo" }, "", pointer("node")},
		"PH-04 another subdomain":  {func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "host", "bar" }, "", pointer("node")},
		"C1 no node, no node name": {func(p *corev1.Pod) { p.Spec.NodeName = "" }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(0, tc.edit)
			want := subset(pods(p), nil, tcp8080)
			want.Addresses[0].Hostname, want.Addresses[0].NodeName = tc.hostname, tc.node
			got := planned(t, serviceFoo(), pods(p), nil, time.Time{})
			if diff := cmp.Diff([]corev1.EndpointSubset{want}, got.Endpoints.Subsets); diff != "" {
				t.Errorf("subsets (-want +got):\n%s", diff)
			}
		})
	}
}

// The ports of a pod that a Service targets (PH-08).
func TestPlanFindsPorts(t *testing.T) {
	sidecar := func(policy *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			port := corev1.ContainerPort{Name: "p", ContainerPort: 80, Protocol: corev1.ProtocolTCP}
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{RestartPolicy: policy, Ports: []corev1.ContainerPort{port}})
		}
	}
	always := sidecar(pointer(corev1.ContainerRestartPolicyAlways))
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"name absent":            {pod(0, exposing("q", 1)), "[]"},
		"second container":       {pod(0, exposing("q", 1), exposing("p", 33)), "[33]"},
		"protocol mismatch":      {pod(0, exposing("p", 33), func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].Protocol = "UDP" }), "[]"},
		"TCP is the default":     {pod(0, exposing("p", 33), func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].Protocol = "" }), "[33]"},
		"sidecar":                {pod(0, always), "[80]"},
		"ordinary init":          {pod(0, sidecar(nil)), "[]"},
		"containers come first":  {pod(0, always, exposing("p", 81), exposing("p", 82)), "[81]"},
		"no port number is none": {pod(0, exposing("p", -1)), "[none]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := []string{}
			service := serviceFoo(withPorts(namedTarget("", "p")))
			for _, s := range planned(t, service, pods(tc.pod), nil, time.Time{}).Endpoints.Subsets {
				for _, p := range s.Ports {
					got = append(got, fmt.Sprint(p.Port))
				}
				if len(s.Ports) == 0 {
					got = append(got, "none")
				}
			}
			if fmt.Sprint(got) != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}
