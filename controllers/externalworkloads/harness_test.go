package externalworkloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/slicetest"
)

// serviceWith returns a Service "web" that selects app=web and has one port, named http, with the target port
// 8080.
func serviceWith(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web-uid"},
		Spec: corev1.ServiceSpec{
			ClusterIP:  "10.96.0.1",
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Selector:   map[string]string{"app": "web"},
			Ports:      []corev1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP", TargetPort: intstr.FromInt32(8080)}},
		},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func families(f ...corev1.IPFamily) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.IPFamilies = f }
}

func ports(p ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = p }
}

func headless(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }

func deleted(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{} }

// machine returns a ready workload with these IPs that serves port 8080.
func machine(name string, ips ...string) *Workload {
	return &Workload{
		Namespace: "ns", Name: name, UID: name + "-uid", Labels: objectmeta.Labels{{Key: "app", Value: "web"}},
		IPs: ips, Ports: []watched.ContainerPort{{Name: "http", Number: 8080, Protocol: "TCP"}}, Ready: true,
	}
}

func edited(w *Workload, edit func(*Workload)) *Workload {
	c := *w
	c.Labels, c.IPs, c.Ports = slices.Clone(c.Labels), slices.Clone(c.IPs), slices.Clone(c.Ports)
	edit(&c)
	return &c
}

func labelled(labels ...string) func(*Workload) {
	return func(w *Workload) {
		m := map[string]string{}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			m[key] = value
		}
		w.Labels = objectmeta.NewLabels(m)
	}
}

// machines returns workloads m000, m001 and so on.
func machines(from, to int) []*Workload {
	var list []*Workload
	for i := from; i < to; i++ {
		list = append(list, machine(fmt.Sprintf("m%03d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)))
	}
	return list
}

// settled returns a server on which the slices of these workloads are up to date.
func settled(t slicetest.T, service *corev1.Service, workloads ...*Workload) *slicetest.Server {
	t.Helper()
	s := &slicetest.Server{}
	s.Apply(t, Compute(service, workloads, nil, DefaultMaxPerSlice).Plan)
	return s
}

// text formats a plan in lines: the operation, the address type, the ports, and the number of endpoints; up
// to three endpoints are listed.
func text(plan Plan) []string {
	var lines []string
	for _, s := range plan.Create {
		lines = append(lines, "create "+sliceText(s))
	}
	for _, s := range plan.Update {
		lines = append(lines, "update "+sliceText(s))
	}
	for _, s := range plan.Delete {
		lines = append(lines, "delete "+sliceText(s))
	}
	return lines
}

func sliceText(s *discoveryv1.EndpointSlice) string {
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, fmt.Sprintf("%s:%d/%s", value(p.Name), value(p.Port), value(p.Protocol)))
	}
	slices.Sort(ports)
	line := fmt.Sprintf("%s [%s] %d", s.AddressType, strings.Join(ports, " "), len(s.Endpoints))
	if len(s.Endpoints) > 3 {
		return line
	}
	var endpoints []string
	for _, e := range s.Endpoints {
		state := ""
		if !*e.Conditions.Ready && !*e.Conditions.Serving {
			state = "!"
		}
		endpoints = append(endpoints, fmt.Sprintf("%s%s@%s", state, e.TargetRef.Name, strings.Join(e.Addresses, "+")))
	}
	slices.Sort(endpoints)
	return strings.TrimSpace(line + " " + strings.Join(endpoints, " "))
}

func wantPlan(t slicetest.T, plan Plan, want ...string) {
	t.Helper()
	if diff := gocmp.Diff(want, text(plan)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// sizes returns the numbers of endpoints of slices, in descending order.
func sizes(list []*discoveryv1.EndpointSlice) []int {
	var n []int
	for _, s := range list {
		n = append(n, len(s.Endpoints))
	}
	slices.SortFunc(n, func(a, b int) int { return cmp.Compare(b, a) })
	return n
}

func wantSizes(t slicetest.T, what string, list []*discoveryv1.EndpointSlice, want ...int) {
	t.Helper()
	if got := sizes(list); !slices.Equal(got, want) {
		t.Errorf("%s has slices of %v endpoints, want %v", what, got, want)
	}
}
