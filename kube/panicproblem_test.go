package kube

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// An object on which Kind.Trim or Kind.Read panics costs nothing but itself: its last good version
// stays, other objects and other tables of the watch go on, and its problem says where
// (docs/faults.md, row 15).
func TestPanicCostsOneObject(t *testing.T) {
	panicking := Services()
	trim := panicking.Trim
	panicking.Trim = func(s Scope, o runtime.Object) (*catalog.Service, []Problem) {
		if o.(*corev1.Service).Spec.ExternalName == "poison" {
			panic(errors.New("no such port"))
		}
		return trim(s, o)
	}
	hurt, healthy := panicking.Table(), Services().Table()
	var problems []objectmeta.Problem
	s := storeOf(t, binding{report: func(p objectmeta.Problem) { problems = append(problems, p) }}, hurt, healthy)
	for _, o := range []struct{ name, external string }{{"a", "fine"}, {"a", "poison"}, {"b", "poison"}, {"c", "fine"}} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: o.name}, Spec: corev1.ServiceSpec{ExternalName: o.external}}
		if err := s.Update(service); err != nil {
			t.Fatal(err)
		}
	}
	if hurt.Get("n", "a") == nil || hurt.Get("n", "b") != nil || hurt.Get("n", "c") == nil {
		t.Errorf("the table holds a: %v, b: %v, c: %v; want a and c", hurt.Get("n", "a"), hurt.Get("n", "b"), hurt.Get("n", "c"))
	}
	if healthy.Len() != 3 {
		t.Errorf("the other table holds %d objects, want 3", healthy.Len())
	}
	if len(problems) != 2 || problems[0].Name != "a" || problems[1].Name != "b" {
		t.Fatalf("problems are %+v, want one of a and one of b", problems)
	}
	for _, want := range []string{"TestPanicCostsOneObject", "no such port", "report it"} {
		if !strings.Contains(problems[0].Reason, want) {
			t.Errorf("the problem is %q, want %q in it", problems[0].Reason, want)
		}
	}
}

// The same for an object in protobuf that a table reads without decoding it.
func TestPanicOfReadCostsOneObject(t *testing.T) {
	panicking := Services()
	panicking.Read = func(Scope, []byte) (*catalog.Service, []Problem, error) {
		var none *catalog.Service
		return none, nil, errors.New(none.Key.Name) // panics
	}
	table := panicking.Table()
	var problems []objectmeta.Problem
	storeOf(t, binding{report: func(p objectmeta.Problem) { problems = append(problems, p) }}, table)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	message, err := service.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := table.read(message)
	if value, ok := kept.(*catalog.Service); err != nil || !ok || value != nil {
		t.Errorf("got %v, %v; want no Service and no error", kept, err)
	}
	if len(problems) != 1 || problems[0].Name != "a" || !strings.Contains(problems[0].Reason, "nil pointer dereference") {
		t.Errorf("problems are %+v, want one of a", problems)
	}
}
