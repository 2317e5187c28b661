package externalworkloads

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
)

// TestTakeover starts from slices as other writers make them.
func TestTakeover(t *testing.T) {
	service := serviceWith(ports(
		corev1.ServicePort{Name: "a", Protocol: "TCP", TargetPort: intstr.FromInt32(1)},
		corev1.ServicePort{Name: "b", Protocol: "UDP", TargetPort: intstr.FromInt32(2)},
	))
	list := machines(0, 3)
	for _, w := range list {
		w.Ports = []watched.ContainerPort{{Name: "", Number: 1, Protocol: ""}, {Name: "", Number: 2, Protocol: "UDP"}}
	}
	for _, c := range []struct {
		name    string
		edit    func(*discoveryv1.EndpointSlice)
		updated bool
	}{
		{"generated name", func(s *discoveryv1.EndpointSlice) {
			s.Name, s.GenerateName = "linkerd-external-web-x7k2p", "linkerd-external-web-"
		}, false},
		{"order of ports", func(s *discoveryv1.EndpointSlice) { slices.Reverse(s.Ports) }, false},
		{"order of endpoints", func(s *discoveryv1.EndpointSlice) { slices.Reverse(s.Endpoints) }, false},
		{"version of targets", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef.ResourceVersion = "7" }, false},
		{"empty zone", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Zone = new(string) }, false},
		{"annotation", func(s *discoveryv1.EndpointSlice) { s.Annotations = map[string]string{"x": "y"} }, false},
		{"condition", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = nil }, true},
		{"node", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].NodeName = &s.Name }, true},
		{"target", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef.UID = "former" }, true},
		{"endpoint added", func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.9"}})
		}, true},
		{"endpoint doubled", func(s *discoveryv1.EndpointSlice) { s.Endpoints = append(s.Endpoints, s.Endpoints[0]) }, true},
		{"endpoint missing", func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[1:] }, true},
		{"label added", func(s *discoveryv1.EndpointSlice) { s.Labels["x"] = "y" }, true},
		{"port edited", func(s *discoveryv1.EndpointSlice) { *s.Ports[0].Port = 9 }, true},
		{"app protocol", func(s *discoveryv1.EndpointSlice) { s.Ports[0].AppProtocol = &s.Name }, true},
		{"port without number", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settled(t, service, list...)
			c.edit(s.Slices[0])
			plan := Compute(service, list, s.Slices, DefaultMaxPerSlice)
			if got := len(plan.Update) == 1; got != c.updated || len(plan.Create)+len(plan.Delete) > 0 {
				t.Fatalf("plan is %q", text(plan))
			}
			if c.updated && plan.Update[0].Name != s.Slices[0].Name {
				t.Errorf("updates %s", plan.Update[0].Name)
			}
			s.Apply(t, plan.Plan)
			wantPlan(t, Compute(service, list, s.Slices, DefaultMaxPerSlice))
		})
	}

	t.Run("finalizers and annotations stay", func(t *testing.T) {
		s := settled(t, service, list...)
		s.Slices[0].Finalizers, s.Slices[0].Annotations = []string{"x/y"}, map[string]string{"x": "y"}
		got := Compute(service, list[1:], s.Slices, DefaultMaxPerSlice).Update[0]
		if len(got.Finalizers) != 1 || got.Annotations["x"] != "y" {
			t.Errorf("metadata is %+v", got.ObjectMeta)
		}
	})
}

// TestProblems tests the problems of a plan.
func TestProblems(t *testing.T) {
	service := serviceWith(headless, ports(
		corev1.ServicePort{Name: "a", Port: 1, Protocol: "TCP", TargetPort: intstr.FromString("a")},
		corev1.ServicePort{Name: "b", Port: 2, TargetPort: intstr.FromInt32(8080)},
		corev1.ServicePort{Name: "c", Port: 3, Protocol: "UDP", TargetPort: intstr.FromInt32(8080)},
	))
	list := []*Workload{
		machine("z"), machine("fine", "::ffff:10.0.0.1"), machine("dot.ted", "10.0.0.2"),
		machine("bad", "10.0.0.300", "127.0.0.1", "fd00::1%eth0", "10.0.0.3", "10.0.0.3"),
		machine("worse", "169.254.0.1"),
	}
	plan := Compute(service, list, nil, DefaultMaxPerSlice)
	var got []string
	for _, p := range plan.Problems {
		if p.Message == "" || p.Object.UID == "" || p.Object.Namespace != "ns" || strings.HasSuffix(p.Message, ".") {
			t.Errorf("problem %+v is incomplete", p)
		}
		got = append(got, p.Object.APIVersion+" "+p.Object.Kind+" "+p.Object.Name+" "+p.Reason)
	}
	const w = "workload.linkerd.io/v1beta1 ExternalWorkload "
	if diff := cmp.Diff([]string{
		"v1 Service web UnknownTargetPort", "v1 Service web UnknownTargetPort",
		w + "bad InvalidAddress", w + "bad InvalidAddress", w + "bad InvalidAddress",
		w + "dot.ted NameNotHostname",
		w + "worse InvalidAddress", w + "worse NoUsableAddress",
		w + "z NoUsableAddress",
	}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	wantPlan(t, plan, "create IPv4 [b:8080/] 3 bad@10.0.0.3 dot.ted@10.0.0.2 fine@10.0.0.1")
	if problems := Compute(service, nil, nil, DefaultMaxPerSlice).Problems; len(problems) > 0 {
		t.Errorf("without workloads there are problems %v", problems)
	}
}

// Of thousands of problems, which cost a tenant little, the first ones are reported.
func TestManyProblems(t *testing.T) {
	var list []*Workload
	for i := range 20 {
		w := machine(fmt.Sprintf("m%02d", i))
		for range maxIPs {
			w.IPs = append(w.IPs, "none")
		}
		list = append(list, w)
	}
	got := Compute(serviceWith(), list, nil, DefaultMaxPerSlice).Problems
	if len(got) != maxProblems+1 || got[0].Object.Name != "m00" || got[0].Reason != InvalidAddress || got[maxProblems].Reason != TooManyProblems {
		t.Errorf("%d problems, from %v to %v, want %d and then %s", len(got), got[0], got[len(got)-1], maxProblems, TooManyProblems)
	}
}

// The ports of the Service are found in workloads with as many ports as an object has room for.
func TestManyPorts(t *testing.T) {
	const n = 30_000
	service, w := serviceWith(func(s *corev1.Service) { s.Spec.Ports = nil }), machine("m", "10.0.0.1")
	w.Ports = nil
	for i := range n {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), TargetPort: intstr.FromString(fmt.Sprint("t", i))})
		w.Ports = append(w.Ports, watched.ContainerPort{Name: fmt.Sprint("t", n-i), Number: int32(i + 1)})
	}
	plan := Compute(service, []*Workload{w}, nil, DefaultMaxPerSlice)
	if len(plan.Create) != 1 || len(plan.Create[0].Ports) != n-1 {
		t.Errorf("%d slices are created, want one with %d ports", len(plan.Create), n-1)
	}
}

// The cost of a plan doesn't grow with the product of workloads and ports, and workloads with too
// many sets of ports are left out, always the same ones.
func TestManyPortsOfManyWorkloads(t *testing.T) {
	const n, ports, most = 200, 2000, 64 << 20
	service := serviceWith(func(s *corev1.Service) { s.Spec.Ports = nil })
	for i := range ports {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprint("p", i), TargetPort: intstr.FromString(fmt.Sprint("t", i)), Protocol: corev1.ProtocolTCP,
		})
	}
	var list []*Workload
	for i := range n {
		w := machine(fmt.Sprintf("m%03d", n-1-i), fmt.Sprint("10.0.0.", i+1))
		w.Ports = nil
		for k := range ports {
			w.Ports = append(w.Ports, watched.ContainerPort{Name: fmt.Sprint("t", k), Number: int32(k + 1), Protocol: corev1.ProtocolTCP})
		}
		list = append(list, w)
	}
	allocated := func() (Plan, uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		plan := Compute(service, list, nil, DefaultMaxPerSlice)
		runtime.ReadMemStats(&after)
		return plan, after.TotalAlloc - before.TotalAlloc
	}
	plan, used := allocated()
	if len(plan.Create) != 2 || len(plan.Problems) > 0 || used > 8<<20 {
		t.Errorf("with the same ports: %d slices are created with %d bytes, problems %v; want 2 with at most 8 MiB", len(plan.Create), used, plan.Problems)
	}
	for i, w := range list {
		w.Ports[0].Number = int32(10_000 + i)
	}
	plan, used = allocated()
	const fit = slicestore.MaxPorts / ports
	if len(plan.Create) != fit || len(plan.Problems) != 1 || plan.Problems[0].Reason != slicestore.TooManyPorts || used > most {
		t.Errorf("with other ports each: %d slices are created with %d bytes, problems %v; want %d with at most %d bytes", len(plan.Create), used, plan.Problems, fit, most)
	}
	for _, e := range plan.Create {
		if name := e.Endpoints[0].TargetRef.Name; name >= fmt.Sprintf("m%03d", fit) {
			t.Errorf("%s is in a slice, want the first %d by name", name, fit)
		}
	}
}

// Large labels of a Service are not copied to its slices, of which there may be many.
func TestLargeLabels(t *testing.T) {
	service := serviceWith(func(s *corev1.Service) {
		s.Labels = map[string]string{}
		for i := range 300 {
			s.Labels[fmt.Sprint("label-", i)] = strings.Repeat("x", 60)
		}
	})
	plan := Compute(service, []*Workload{machine("m", "10.0.0.1")}, nil, DefaultMaxPerSlice)
	if len(plan.Create) != 1 || len(plan.Create[0].Labels) != 2 || len(plan.Problems) != 1 || plan.Problems[0].Reason != slicestore.LabelsTooLarge {
		t.Errorf("plan %+v with %d labels, want one slice with its own two labels and a problem", plan.Problems, len(plan.Create[0].Labels))
	}
	if problems := Compute(service, nil, nil, DefaultMaxPerSlice).Problems; len(problems) > 0 {
		t.Errorf("without workloads there are problems %v", problems)
	}
}
