package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// twoSubsets returns the subsets that the cases of Equal change.
func twoSubsets() []corev1.EndpointSubset {
	list := read("10.0.0.1/uid-1#a 10.0.0.2 !10.0.0.3/uid-3#c ; web:80/TCP", "10.0.1.1/uid-4#d ; web:81/TCP")
	a := &list[0].Addresses[0]
	a.NodeName, a.Hostname = pointer("node-1"), "a"
	a.TargetRef.ResourceVersion = "1"
	list[0].Ports[0].AppProtocol = pointer("http")
	return list
}

type edit func(list []corev1.EndpointSubset) []corev1.EndpointSubset

// editing turns a change in place into an edit.
func editing(change func(s *corev1.EndpointSubset)) edit {
	return func(list []corev1.EndpointSubset) []corev1.EndpointSubset {
		change(&list[0])
		return list
	}
}

var equalCases = map[string]struct {
	edit  edit
	equal bool
}{
	"EP-82 the same":          {editing(func(*corev1.EndpointSubset) {}), true},
	"EP-82 subset missing":    {func(list []corev1.EndpointSubset) []corev1.EndpointSubset { return list[:1] }, false},
	"EP-82 ready IP":          {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].IP = "10.0.0.9" }), false},
	"EP-82 not ready IP":      {editing(func(s *corev1.EndpointSubset) { s.NotReadyAddresses[0].IP = "10.0.0.9" }), false},
	"EP-82 resource version":  {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.ResourceVersion = "2" }), true},
	"EP-82 version removed":   {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.ResourceVersion = "" }), true},
	"EP-82 port number":       {editing(func(s *corev1.EndpointSubset) { s.Ports[0].Port = 8080 }), false},
	"port name":               {editing(func(s *corev1.EndpointSubset) { s.Ports[0].Name = "http" }), false},
	"port protocol":           {editing(func(s *corev1.EndpointSubset) { s.Ports[0].Protocol = corev1.ProtocolUDP }), false},
	"application protocol":    {editing(func(s *corev1.EndpointSubset) { s.Ports[0].AppProtocol = pointer("h2c") }), false},
	"no application protocol": {editing(func(s *corev1.EndpointSubset) { s.Ports[0].AppProtocol = nil }), false},
	"port missing":            {editing(func(s *corev1.EndpointSubset) { s.Ports = nil }), false},
	"address missing":         {editing(func(s *corev1.EndpointSubset) { s.Addresses = s.Addresses[:1] }), false},
	"order": {editing(func(s *corev1.EndpointSubset) {
		s.Addresses[0], s.Addresses[1] = s.Addresses[1], s.Addresses[0]
	}), false},
	"hostname":       {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].Hostname = "b" }), false},
	"node":           {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].NodeName = pointer("node-2") }), false},
	"no node":        {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].NodeName = nil }), false},
	"empty node":     {editing(func(s *corev1.EndpointSubset) { s.Addresses[1].NodeName = pointer("") }), false},
	"target missing": {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef = nil }), false},
	"empty target":   {editing(func(s *corev1.EndpointSubset) { s.Addresses[1].TargetRef = &corev1.ObjectReference{} }), false},
	"target kind":    {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.Kind = "Pod" }), false},
	"target name":    {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.Name = "b" }), false},
	"target space":   {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.Namespace = "b" }), false},
	"target UID":     {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.UID = types.UID("b") }), false},
	"target version": {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.APIVersion = "v1" }), false},
	"target field":   {editing(func(s *corev1.EndpointSubset) { s.Addresses[0].TargetRef.FieldPath = "spec" }), false},
	"nil and no list": {func(list []corev1.EndpointSubset) []corev1.EndpointSubset {
		list[1].NotReadyAddresses = []corev1.EndpointAddress{}
		return list
	}, true},
}

// Equal compares subsets in order (EP-82).
func TestEqual(t *testing.T) {
	for name, tc := range equalCases {
		t.Run(name, func(t *testing.T) {
			a, b := twoSubsets(), tc.edit(twoSubsets())
			if Equal(a, b) != tc.equal || Equal(b, a) != tc.equal {
				t.Errorf("Equal is %v and %v, want %v", Equal(a, b), Equal(b, a), tc.equal)
			}
		})
	}
	if !Equal(nil, []corev1.EndpointSubset{}) {
		t.Error("no list and an empty one are different")
	}
}

func TestEqualAllocatesNothing(t *testing.T) {
	a, b := twoSubsets(), twoSubsets()
	if n := testing.AllocsPerRun(10, func() { Equal(a, b) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Equal agrees with comparing the digests, without the versions of targets.
func TestEqualIsEqualContent(t *testing.T) {
	ports := drawPort("80", "81")
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSubsets(ports).Draw(t, "a"), drawSubsets(ports).Draw(t, "b")
		if rapid.Bool().Draw(t, "copied") {
			b = copied(a)
		}
		a, b = Canonical(a), Canonical(b)
		if want := digestOf(a) == digestOf(b); Equal(a, b) != want {
			t.Errorf("Equal is %v, want %v", !want, want)
		}
	})
}
