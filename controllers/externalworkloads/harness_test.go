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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// tester is a *testing.T or *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

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

// server is the part of an API server that plans need.
type server struct {
	slices  []*discoveryv1.EndpointSlice
	written int
}

// apply carries out a plan.
func (s *server) apply(t tester, plan Plan) {
	t.Helper()
	for _, c := range plan.Create {
		if c.Name != "" || c.GenerateName == "" {
			t.Fatalf("create %q with generateName %q, want only the latter", c.Name, c.GenerateName)
		}
		c = c.DeepCopy()
		for n := s.written; c.Name == "" || s.index(c.Name) >= 0; n++ {
			c.Name = fmt.Sprintf("%s%05d", c.GenerateName, n)
		}
		stored := s.stored(t, c)
		stored.UID = types.UID(fmt.Sprintf("slice-%d", s.written))
		s.slices = append(s.slices, stored)
	}
	for _, u := range plan.Update {
		i := s.index(u.Name)
		if i < 0 || s.slices[i].ResourceVersion != u.ResourceVersion || s.slices[i].UID != u.UID {
			t.Fatalf("update %s: not found, or conflict", u.Name)
		}
		if s.slices[i].AddressType != u.AddressType {
			t.Fatalf("update %s: address type is immutable", u.Name)
		}
		s.slices[i] = s.stored(t, u)
	}
	for _, d := range plan.Delete {
		i := s.index(d.Name)
		if i < 0 || s.slices[i].UID != d.UID {
			t.Fatalf("delete %s: not found, or conflict", d.Name)
		}
		s.slices = slices.Delete(s.slices, i, i+1)
	}
}

func (s *server) index(name string) int {
	return slices.IndexFunc(s.slices, func(o *discoveryv1.EndpointSlice) bool { return o.Name == name })
}

// stored validates a slice and sets its default fields, as the API server does.
func (s *server) stored(t tester, from *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	t.Helper()
	if problems := validation.IsDNS1123Subdomain(from.Name); len(problems) > 0 {
		t.Fatalf("name %q: %v", from.Name, problems)
	}
	o := from.DeepCopy()
	s.written++
	o.ResourceVersion, o.Generation = fmt.Sprint(s.written), o.Generation+1
	for i := range o.Ports {
		p := &o.Ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
	}
	for _, e := range o.Endpoints {
		if len(e.Addresses) == 0 {
			t.Fatalf("slice %s has an endpoint without address", o.Name)
		}
		if e.Hostname != nil && len(validation.IsDNS1123Label(*e.Hostname)) > 0 {
			t.Fatalf("slice %s has the hostname %q", o.Name, *e.Hostname)
		}
	}
	return o
}

// settled returns a server on which the slices of these workloads are up to date.
func settled(t tester, service *corev1.Service, workloads ...*Workload) *server {
	t.Helper()
	s := &server{}
	s.apply(t, Compute(service, workloads, nil, 0))
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

func wantPlan(t tester, plan Plan, want ...string) {
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

func wantSizes(t tester, what string, list []*discoveryv1.EndpointSlice, want ...int) {
	t.Helper()
	if got := sizes(list); !slices.Equal(got, want) {
		t.Errorf("%s has slices of %v endpoints, want %v", what, got, want)
	}
}

// writes returns the number of slices that a plan writes or deletes.
func writes(p Plan) int { return len(p.Create) + len(p.Update) + len(p.Delete) }
