package externalworkloads

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/testkit/slicetest"
)

const (
	ipv4 = corev1.IPv4Protocol
	ipv6 = corev1.IPv6Protocol
)

// TestCompute has the cases of spec/destination.md §9.9 with few workloads. X4, X5 and X12 are
// tested with the loop.
func TestCompute(t *testing.T) {
	a, b := machine("a", "10.0.0.1"), machine("b", "10.0.0.2", "fd00::2")
	all := ports(
		corev1.ServicePort{Name: "t", Protocol: "TCP", TargetPort: intstr.FromString("t")},
		corev1.ServicePort{Name: "u", Protocol: "UDP", TargetPort: intstr.FromString("u")},
		corev1.ServicePort{Name: "s", Protocol: "SCTP", TargetPort: intstr.FromInt32(3)},
	)
	allPorts := func(w *Workload) {
		w.Ports = []watched.ContainerPort{{Name: "t", Number: 1, Protocol: "TCP"}, {Name: "u", Number: 2, Protocol: "UDP"}, {Name: "s", Number: 3, Protocol: "SCTP"}, {Name: "u", Number: 4, Protocol: "TCP"}, {Name: "", Number: 3, Protocol: "TCP"}}
	}
	external := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }
	unselective := func(s *corev1.Service) { s.Spec.Selector = nil }
	onEdge := settled(t, serviceWith(), a)
	orphan := onEdge.Slices[0].DeepCopy()
	orphan.OwnerReferences[0].UID = "former"

	for _, c := range []struct {
		id        string
		service   *corev1.Service
		workloads []*Workload
		existing  []*discoveryv1.EndpointSlice
		want      []string
	}{
		{id: "X1", service: serviceWith(unselective), workloads: []*Workload{a}},
		{id: "X1 existing slices stay", service: serviceWith(unselective), existing: onEdge.Slices},
		{id: "X2 selector and ports", service: serviceWith(external), workloads: []*Workload{a}},
		{id: "X2 selector only", service: serviceWith(external, ports()), workloads: []*Workload{a}},
		{id: "X2 ports only", service: serviceWith(external, unselective), workloads: []*Workload{a}},
		{id: "X2 neither", service: serviceWith(external, unselective, ports()), workloads: []*Workload{a}},
		{id: "X3", service: serviceWith(deleted), workloads: []*Workload{a}},
		{
			id: "X3 updates go on", service: serviceWith(deleted), workloads: []*Workload{a, b}, existing: onEdge.Slices,
			want: []string{"update IPv4 [http:8080/TCP] 2 a@10.0.0.1 b@10.0.0.2"},
		},
		{
			id: "X6", service: serviceWith(all), workloads: []*Workload{edited(a, allPorts), edited(b, allPorts)},
			want: []string{"create IPv4 [s:3/SCTP t:1/TCP u:2/UDP] 2 a@10.0.0.1 b@10.0.0.2"},
		},
		{
			id: "X7", service: serviceWith(families(ipv6)), workloads: []*Workload{a, b},
			want: []string{"create IPv6 [http:8080/TCP] 1 b@fd00::2"},
		},
		{
			id: "X8", service: serviceWith(), workloads: []*Workload{a, edited(b, func(w *Workload) { w.Ready = false })},
			want: []string{"create IPv4 [http:8080/TCP] 2 !b@10.0.0.2 a@10.0.0.1"},
		},
		{
			id: "X9", service: serviceWith(), workloads: []*Workload{machine("a", "10.0.0.1"), machine("b", "10.0.0.1")},
			want: []string{"create IPv4 [http:8080/TCP] 2 a@10.0.0.1 b@10.0.0.1"},
		},
		{
			id: "X13 IPv4", service: serviceWith(families(ipv4)), workloads: []*Workload{b},
			want: []string{"create IPv4 [http:8080/TCP] 1 b@10.0.0.2"},
		},
		{
			id: "X13 IPv6", service: serviceWith(families(ipv6)), workloads: []*Workload{b},
			want: []string{"create IPv6 [http:8080/TCP] 1 b@fd00::2"},
		},
		{
			id: "X13 dual stack", service: serviceWith(families(ipv6, ipv4)), workloads: []*Workload{b},
			want: []string{"create IPv6 [http:8080/TCP] 1 b@fd00::2", "create IPv4 [http:8080/TCP] 1 b@10.0.0.2"},
		},
		{
			id: "§8.4.1 families unknown", service: serviceWith(families()), workloads: []*Workload{b},
			want: []string{"create IPv4 [http:8080/TCP] 1 b@10.0.0.2", "create IPv6 [http:8080/TCP] 1 b@fd00::2"},
		},
		{
			id: "§8.4.1 family no longer wanted", service: serviceWith(families(ipv6)), workloads: []*Workload{b}, existing: onEdge.Slices,
			want: []string{"create IPv6 [http:8080/TCP] 1 b@fd00::2", "delete IPv4 [http:8080/TCP] 1 a@10.0.0.1"},
		},
		{
			id: "§8.4.2 slice of a former Service", service: serviceWith(), workloads: []*Workload{a}, existing: []*discoveryv1.EndpointSlice{orphan},
			want: []string{"create IPv4 [http:8080/TCP] 1 a@10.0.0.1", "delete IPv4 [http:8080/TCP] 1 a@10.0.0.1"},
		},
		{
			id: "§8.4.4 port of no workload", service: serviceWith(), want: []string{"create IPv4 [] 1 a@10.0.0.1"},
			workloads: []*Workload{edited(a, func(w *Workload) { w.Ports = []watched.ContainerPort{{Name: "http", Number: 8080, Protocol: "UDP"}} })},
		},
		{
			id: "§8.4.4 headless without ports", service: serviceWith(headless, ports()), workloads: []*Workload{a},
			want: []string{"create IPv4 [] 1 a@10.0.0.1"},
		},
		{
			id: "§8.4.5 workloads gone", service: serviceWith(), existing: onEdge.Slices,
			want: []string{"delete IPv4 [http:8080/TCP] 1 a@10.0.0.1"},
		},
		{id: "no placeholder", service: serviceWith()},
	} {
		t.Run(c.id, func(t *testing.T) {
			wantPlan(t, Compute(c.service, c.workloads, c.existing, DefaultMaxPerSlice), c.want...)
		})
	}
}

// TestContent has the cases about the content of a slice.
func TestContent(t *testing.T) {
	a, b := machine("a", "10.0.0.1", "fd00::1"), machine("b", "10.0.0.2", "fd00::2")

	t.Run("§8.5", func(t *testing.T) {
		service := serviceWith(func(s *corev1.Service) { s.Labels = map[string]string{"team": "blue"} })
		got := Compute(service, []*Workload{edited(a, labelled("app=web", "topology.kubernetes.io/zone=west"))}, nil, DefaultMaxPerSlice).Create[0]
		yes, no, name, tcp, number, zone := true, false, "http", corev1.ProtocolTCP, int32(8080), "west"
		want := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", GenerateName: "linkerd-external-web-",
				Labels: map[string]string{
					"team": "blue", "kubernetes.io/service-name": "web",
					"endpointslice.kubernetes.io/managed-by": "linkerd-external-workloads-controller",
				},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "Service", Name: "web", UID: "web-uid", Controller: &yes, BlockOwnerDeletion: &yes,
				}},
			},
			AddressType: "IPv4",
			Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &tcp, Port: &number}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses:  []string{"10.0.0.1"},
				Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
				TargetRef:  &corev1.ObjectReference{Kind: "ExternalWorkload", Namespace: "ns", Name: "a", UID: "a-uid"},
				Zone:       &zone,
			}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("slice (-want +got):\n%s", diff)
		}
	})

	t.Run("X14", func(t *testing.T) {
		got := Compute(serviceWith(headless), []*Workload{a}, nil, DefaultMaxPerSlice).Create[0]
		if v, ok := got.Labels["service.kubernetes.io/headless"]; !ok || v != "" || value(got.Endpoints[0].Hostname) != "a" {
			t.Errorf("labels %v, hostname %q", got.Labels, value(got.Endpoints[0].Hostname))
		}
	})

	t.Run("X15", func(t *testing.T) {
		service := serviceWith(families(ipv4, ipv6))
		s := settled(t, service, a)
		wantPlan(t, Compute(service, []*Workload{a, b}, s.Slices, DefaultMaxPerSlice),
			"update IPv4 [http:8080/TCP] 2 a@10.0.0.1 b@10.0.0.2", "update IPv6 [http:8080/TCP] 2 a@fd00::1 b@fd00::2")
	})

	t.Run("X16", func(t *testing.T) {
		s := settled(t, serviceWith(), a)
		before := s.Slices[0]
		s.Apply(t, Compute(serviceWith(), []*Workload{edited(a, labelled("app=web", "topology.kubernetes.io/zone=west"))}, s.Slices, DefaultMaxPerSlice).Plan)
		after := s.Slices[0]
		if len(s.Slices) != 1 || after.UID != before.UID || after.Generation != before.Generation+1 || value(after.Endpoints[0].Zone) != "west" {
			t.Errorf("slices are %+v", s.Slices)
		}
	})
}

// TestPacking has the cases about many workloads.
func TestPacking(t *testing.T) {
	moved := func(list []*Workload) []*Workload {
		var changed []*Workload
		for _, w := range list {
			changed = append(changed, edited(w, func(w *Workload) { w.Ports = []watched.ContainerPort{{Name: "http", Number: 81, Protocol: "TCP"}} }))
		}
		return changed
	}
	movedService := serviceWith(ports(corev1.ServicePort{Name: "http", Protocol: "TCP", TargetPort: intstr.FromInt32(81)}))

	t.Run("X17", func(t *testing.T) {
		list := machines(0, 300)
		for i, w := range list {
			w.Ports[0].Number = int32(8080 + i%5)
		}
		byName := serviceWith(ports(corev1.ServicePort{Name: "web", Protocol: "TCP", TargetPort: intstr.FromString("http")}))
		plan := Compute(byName, list, nil, DefaultMaxPerSlice)
		wantSizes(t, "plan", plan.Create, 60, 60, 60, 60, 60)
	})

	t.Run("X18", func(t *testing.T) {
		plan := Compute(serviceWith(), machines(0, 250), nil, 100)
		wantSizes(t, "plan", plan.Create, 100, 100, 50)
	})

	t.Run("X19", func(t *testing.T) {
		s := twoSlices(t)
		for _, o := range s.Slices {
			for i := range o.Endpoints {
				o.Endpoints[i].Conditions.Ready = new(bool)
			}
		}
		plan := Compute(serviceWith(), machines(0, 250), s.Slices, DefaultMaxPerSlice)
		wantSizes(t, "create", plan.Create, 50)
		wantSizes(t, "update", plan.Update, 100, 100)
		wantSizes(t, "delete", plan.Delete)
	})

	t.Run("RC-07 nothing else changes", func(t *testing.T) {
		plan := Compute(serviceWith(), machines(0, 250), twoSlices(t).Slices, DefaultMaxPerSlice)
		wantSizes(t, "create", plan.Create, 100)
		wantSizes(t, "update", plan.Update, 89)
	})

	t.Run("RC-17 other limits", func(t *testing.T) {
		for limit, want := range map[int][]int{50: {50, 50, 50, 50, 50}, 80: {80, 80, 80, 10}, 150: {150, 100}, 250: {250}, 500: {250}} {
			wantSizes(t, "plan", Compute(serviceWith(), machines(0, 250), nil, limit).Create, want...)
		}
	})

	t.Run("X20", func(t *testing.T) {
		list := machines(0, 250)
		plan := Compute(movedService, moved(list), settled(t, serviceWith(), list...).Slices, DefaultMaxPerSlice)
		wantSizes(t, "create", plan.Create)
		wantSizes(t, "update", plan.Update, 100, 100, 50)
		wantSizes(t, "delete", plan.Delete)
		for _, u := range plan.Update {
			if number := value(u.Ports[0].Port); number != 81 || u.UID == "" || u.ResourceVersion == "" {
				t.Errorf("updated slice has port %d, UID %q, resource version %q", number, u.UID, u.ResourceVersion)
			}
		}
	})

	t.Run("X23", func(t *testing.T) {
		list, s := machines(0, 300), &slicetest.Server{}
		s.Apply(t, Compute(serviceWith(), list, nil, 30).Plan)
		wantPlan(t, Compute(serviceWith(), list, s.Slices, DefaultMaxPerSlice))
		before := slicetest.Copies(s.Slices)
		plan := Compute(movedService, moved(list), s.Slices, DefaultMaxPerSlice)
		wantSizes(t, "create", plan.Create)
		wantSizes(t, "update", plan.Update, 100, 100, 100)
		wantSizes(t, "delete", plan.Delete, 30, 30, 30, 30, 30, 30, 30)
		if diff := cmp.Diff(before, s.Slices); diff != "" {
			t.Errorf("existing slices changed:\n%s", diff)
		}
	})
}

// twoSlices returns a server with m000 to m061 in one slice and m062 to m122 in another.
func twoSlices(t testing.TB) *slicetest.Server {
	t.Helper()
	s := settled(t, serviceWith(), machines(0, 62)...)
	other := settled(t, serviceWith(), machines(62, 123)...).Slices[0]
	other.Name, other.UID = "linkerd-external-web-zzz", "other"
	s.Slices = append(s.Slices, other)
	return s
}

// TestLabels has the cases about labels of the Service.
func TestLabels(t *testing.T) {
	list := machines(0, 250)
	withLabels := func(labels map[string]string) *corev1.Service {
		return serviceWith(func(s *corev1.Service) { s.Labels = labels })
	}
	for _, c := range []struct {
		id           string
		before, want map[string]string
		updates      int
	}{
		{id: "X21", want: map[string]string{"team": "blue"}, updates: 3},
		{id: "Q30", before: map[string]string{"team": "blue", "tier": "1"}, want: map[string]string{"team": "blue"}, updates: 3},
		{id: "value changed", before: map[string]string{"team": "red"}, want: map[string]string{"team": "blue"}, updates: 3},
		{id: "unchanged", before: map[string]string{"team": "blue"}, want: map[string]string{"team": "blue"}},
	} {
		t.Run(c.id, func(t *testing.T) {
			s := settled(t, withLabels(c.before), list...)
			plan := Compute(withLabels(c.want), list, s.Slices, DefaultMaxPerSlice)
			if len(plan.Update) != c.updates || len(plan.Create)+len(plan.Delete) > 0 {
				t.Errorf("plan is %q", text(plan))
			}
			s.Apply(t, plan.Plan)
			for _, o := range s.Slices {
				if got := withoutReserved(o.Labels); !maps.Equal(got, c.want) {
					t.Errorf("labels of %s are %v, want %v", o.Name, got, c.want)
				}
			}
		})
	}

	t.Run("X22", func(t *testing.T) {
		s := settled(t, serviceWith(), list...)
		hijacker := withLabels(map[string]string{
			"team": "blue", "kubernetes.io/service-name": "x",
			"endpointslice.kubernetes.io/managed-by": "x", "service.kubernetes.io/headless": "x",
		})
		plan := Compute(hijacker, list, s.Slices, DefaultMaxPerSlice)
		wantSizes(t, "update", plan.Update, 100, 100, 50)
		for _, u := range plan.Update {
			want := map[string]string{"team": "blue", discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: ManagedBy}
			if !maps.Equal(u.Labels, want) {
				t.Errorf("labels are %v", u.Labels)
			}
		}
		s.Apply(t, plan.Plan)
		wantPlan(t, Compute(hijacker, list, s.Slices, DefaultMaxPerSlice))
	})
}

func withoutReserved(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	maps.DeleteFunc(labels, func(label, _ string) bool { return slicestore.IsReserved(label) })
	return labels
}
