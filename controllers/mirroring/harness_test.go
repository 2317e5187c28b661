package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/controllers/reconcile"
)

// tester is a *testing.T or *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func pointer[T any](v T) *T { return &v }

var foo = reconcile.Key{Namespace: "ns", Name: "foo"}

// bare returns the Service "foo", which has no selector.
func bare() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name, UID: "service-uid"}}
}

func selecting() *corev1.Service {
	s := bare()
	s.Spec.Selector = map[string]string{"app": "foo"}
	return s
}

// endpointsOf returns the Endpoints "foo".
func endpointsOf(list ...corev1.EndpointSubset) *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name, UID: "endpoints-uid"}, Subsets: list,
	}
}

func with[T any](o *T, edits ...func(*T)) *T {
	for _, edit := range edits {
		edit(o)
	}
	return o
}

func labelled(key, value string) func(*corev1.Endpoints) {
	return func(e *corev1.Endpoints) { metav1.SetMetaDataLabel(&e.ObjectMeta, key, value) }
}

func annotated(key, value string) func(*corev1.Endpoints) {
	return func(e *corev1.Endpoints) { metav1.SetMetaDataAnnotation(&e.ObjectMeta, key, value) }
}

func deleting(e *corev1.Endpoints) { e.DeletionTimestamp = &metav1.Time{} }

// subset parses a subset: ports "name:80" or "name:53/UDP", ready addresses "1.2.3.4", and unready ones
// "!1.2.3.4".
func subset(words ...string) corev1.EndpointSubset {
	var s corev1.EndpointSubset
	for _, w := range words {
		switch name, number, isPort := strings.Cut(w, ":"); {
		case isPort && !strings.Contains(number, ":"):
			p := corev1.EndpointPort{Name: name, Protocol: corev1.ProtocolTCP}
			number, protocol, other := strings.Cut(number, "/")
			if other {
				p.Protocol = corev1.Protocol(protocol)
			}
			fmt.Sscan(number, &p.Port)
			s.Ports = append(s.Ports, p)
		case w[0] == '!':
			s.NotReadyAddresses = append(s.NotReadyAddresses, corev1.EndpointAddress{IP: w[1:]})
		default:
			s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: w})
		}
	}
	return s
}

// addresses returns n addresses.
func addresses(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("10.0.%d.%d", i/250, i%250+1))
	}
	return list
}

// compute is Compute for foo.
func compute(e *corev1.Endpoints, s *corev1.Service, existing []*discoveryv1.EndpointSlice) Plan {
	return Compute(foo, e, s, existing, 1000)
}

// server is the part of an API server that plans need.
type server struct {
	slices []*discoveryv1.EndpointSlice
	writes int
}

// settled returns the slices of Endpoints, named s1, s2 and so on.
func settled(t tester, e *corev1.Endpoints) []*discoveryv1.EndpointSlice {
	t.Helper()
	s := &server{}
	s.apply(t, compute(e, bare(), nil))
	return s.slices
}

// apply carries out a plan.
func (s *server) apply(t tester, plan Plan) {
	t.Helper()
	for _, c := range plan.Create {
		if c.Name != "" || c.GenerateName != foo.Name+"-" || c.Namespace != foo.Namespace {
			t.Fatalf("create %+v: want a generateName", c.ObjectMeta)
		}
		stored := s.stored(t, c)
		stored.Name = fmt.Sprintf("s%d", s.writes)
		stored.UID = types.UID(stored.Name + "-uid")
		s.slices = append(s.slices, stored)
	}
	for _, u := range plan.Update {
		i := s.index(t, u)
		if s.slices[i].ResourceVersion != u.ResourceVersion || s.slices[i].AddressType != u.AddressType {
			t.Fatalf("update %s: conflict, or another address type", u.Name)
		}
		s.slices[i] = s.stored(t, u)
	}
	for _, d := range plan.Delete {
		i := s.index(t, d)
		s.slices = slices.Delete(s.slices, i, i+1)
	}
}

func (s *server) index(t tester, e *discoveryv1.EndpointSlice) int {
	t.Helper()
	i := slices.IndexFunc(s.slices, func(o *discoveryv1.EndpointSlice) bool { return o.Name == e.Name && o.UID == e.UID })
	if i < 0 {
		t.Fatalf("write %s: not found", e.Name)
	}
	return i
}

// stored validates a slice as the API server does.
func (s *server) stored(t tester, e *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	t.Helper()
	names := map[string]bool{}
	for _, p := range e.Ports {
		if names[*p.Name] {
			t.Fatalf("two ports are named %q", *p.Name)
		}
		names[*p.Name] = true
	}
	if len(e.Endpoints) > 1000 {
		t.Fatalf("%d endpoints", len(e.Endpoints))
	}
	s.writes++
	stored := e.DeepCopy()
	stored.ResourceVersion = fmt.Sprint(s.writes)
	return stored
}

// text formats a plan in lines: the operation, the address type, the ports, and the endpoints or their
// number.
func text(plan Plan) []string {
	var lines []string
	for _, s := range plan.Create {
		lines = append(lines, "create "+contentOf(s))
	}
	for _, s := range plan.Update {
		lines = append(lines, "update "+s.Name+" "+contentOf(s))
	}
	for _, s := range plan.Delete {
		lines = append(lines, "delete "+s.Name)
	}
	slices.Sort(lines)
	return lines
}

func contentOf(s *discoveryv1.EndpointSlice) string {
	var ports, endpoints []string
	for _, p := range s.Ports {
		ports = append(ports, fmt.Sprintf("%s:%d/%s", *p.Name, *p.Port, *p.Protocol))
	}
	slices.Sort(ports)
	line := fmt.Sprintf("%s %v", s.AddressType, ports)
	if len(s.Endpoints) > 4 {
		return fmt.Sprintf("%s %d", line, len(s.Endpoints))
	}
	for _, e := range s.Endpoints {
		state := "!"
		if *e.Conditions.Ready {
			state = ""
		}
		endpoints = append(endpoints, state+strings.Join(e.Addresses, "+"))
	}
	slices.Sort(endpoints)
	return strings.Join(append([]string{line}, endpoints...), " ")
}

func wantPlan(t tester, plan Plan, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, text(plan)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func reasons(plan Plan) []string {
	var list []string
	for _, p := range plan.Problems {
		list = append(list, p.Reason)
	}
	return list
}

func copies(list []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	all := slices.Clone(list)
	for i, s := range all {
		all[i] = s.DeepCopy()
	}
	return all
}

// writes returns the number of slices that a plan writes or deletes.
func writes(p Plan) int { return len(p.Create) + len(p.Update) + len(p.Delete) }
