package externalworkloads

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestTakeover starts from slices as other writers make them.
func TestTakeover(t *testing.T) {
	service := serviceWith(ports(
		corev1.ServicePort{Name: "a", Protocol: "TCP", TargetPort: intstr.FromInt32(1)},
		corev1.ServicePort{Name: "b", Protocol: "UDP", TargetPort: intstr.FromInt32(2)},
	))
	list := machines(0, 3)
	for _, w := range list {
		w.Ports = []Port{{"", 1, ""}, {"", 2, "UDP"}}
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
			c.edit(s.slices[0])
			plan := Compute(service, list, s.slices, 0)
			if got := len(plan.Update) == 1; got != c.updated || len(plan.Create)+len(plan.Delete) > 0 {
				t.Fatalf("plan is %q", text(plan))
			}
			if c.updated && plan.Update[0].Name != s.slices[0].Name {
				t.Errorf("updates %s", plan.Update[0].Name)
			}
			s.apply(t, plan)
			wantPlan(t, Compute(service, list, s.slices, 0))
		})
	}

	t.Run("finalizers and annotations stay", func(t *testing.T) {
		s := settled(t, service, list...)
		s.slices[0].Finalizers, s.slices[0].Annotations = []string{"x/y"}, map[string]string{"x": "y"}
		got := Compute(service, list[1:], s.slices, 0).Update[0]
		if len(got.Finalizers) != 1 || got.Annotations["x"] != "y" {
			t.Errorf("metadata is %+v", got.ObjectMeta)
		}
	})
}

// TestNames tests the names of new slices.
func TestNames(t *testing.T) {
	service, list := serviceWith(), machines(0, 250)
	plan := Compute(service, list, nil, 0)

	t.Run("stable", func(t *testing.T) {
		if again := Compute(service, list, nil, 0); !slices.Equal(names(again.Create), names(plan.Create)) {
			t.Errorf("names are %v, then %v", names(plan.Create), names(again.Create))
		}
	})
	t.Run("a leader that lags behind collides", func(t *testing.T) {
		seen := &server{}
		seen.apply(t, Plan{Create: plan.Create[:1]})
		if behind := Compute(service, list, seen.slices, 0); !slices.Equal(names(behind.Create), names(plan.Create[1:])) {
			t.Errorf("names are %v, then %v", names(plan.Create), names(behind.Create))
		}
	})
	t.Run("names in use are avoided", func(t *testing.T) {
		for what, edit := range map[string]func(*discoveryv1.EndpointSlice){
			"being deleted":       func(s *discoveryv1.EndpointSlice) { s.DeletionTimestamp = &metav1.Time{} },
			"of somebody else":    func(s *discoveryv1.EndpointSlice) { s.Labels = nil },
			"of a former Service": func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil },
		} {
			used := plan.Create[0].DeepCopy()
			edit(used)
			got := names(Compute(service, list, []*discoveryv1.EndpointSlice{used}, 0).Create)
			if len(got) != 3 || slices.Contains(got, used.Name) {
				t.Errorf("%s: %s in use, created are %v", what, used.Name, got)
			}
		}
	})
	t.Run("another Service of the same name", func(t *testing.T) {
		other := Compute(serviceWith(func(s *corev1.Service) { s.UID = "later" }), list, nil, 0)
		for _, name := range names(other.Create) {
			if slices.Contains(names(plan.Create), name) {
				t.Errorf("%s is the name of a slice of both", name)
			}
		}
	})
	t.Run("longest", func(t *testing.T) {
		long := serviceWith(func(s *corev1.Service) { s.Name = strings.Repeat("x", 63) })
		settled(t, long, list...) // checks names
	})
}

func names(list []*discoveryv1.EndpointSlice) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
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
	plan := Compute(service, list, nil, 0)
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
	if problems := Compute(service, nil, nil, 0).Problems; len(problems) > 0 {
		t.Errorf("without workloads there are problems %v", problems)
	}
}
