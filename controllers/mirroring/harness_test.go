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

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/testkit/slicetest"
)

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
	return Compute(e, s, existing, 1000)
}

// settled returns the slices of Endpoints, named s1, s2 and so on.
func settled(t slicetest.T, e *corev1.Endpoints) []*discoveryv1.EndpointSlice {
	t.Helper()
	s := &slicetest.Server{}
	s.Apply(t, compute(e, bare(), nil).Plan)
	return s.Slices
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

func wantPlan(t slicetest.T, plan Plan, want ...string) {
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
