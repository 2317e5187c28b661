// Package slicetest has an API server in memory for tests of plans of EndpointSlices.
//
// # Concurrency
//
// A [Server] is used by one goroutine at a time.
package slicetest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	slicestore "github.com/signpostd/signpost/controllers/slices"
)

// T is a *testing.T or *rapid.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Server is the part of an API server that plans need.
type Server struct {
	// Slices are the existing slices. New ones are named s1, s2 and so on.
	Slices []*discoveryv1.EndpointSlice
	// Written is the number of creates and updates.
	Written int
}

// Apply carries out a plan, and fails the test if the API server would refuse a write.
func (s *Server) Apply(t T, plan slicestore.Plan) {
	t.Helper()
	for _, c := range plan.Create {
		if c.Name != "" || c.GenerateName == "" || c.Namespace == "" {
			t.Fatalf("create %q with generateName %q, want only the latter", c.Name, c.GenerateName)
		}
		stored := s.stored(t, c)
		stored.Name = fmt.Sprint("s", s.Written)
		stored.UID = types.UID(stored.Name + "-uid")
		s.Slices = append(s.Slices, stored)
	}
	for _, u := range plan.Update {
		i := s.index(t, u)
		if s.Slices[i].ResourceVersion != u.ResourceVersion || s.Slices[i].AddressType != u.AddressType {
			t.Fatalf("update %s: conflict, or another address type", u.Name)
		}
		s.Slices[i] = s.stored(t, u)
	}
	for _, d := range plan.Delete {
		i := s.index(t, d)
		s.Slices = slices.Delete(s.Slices, i, i+1)
	}
}

func (s *Server) index(t T, e *discoveryv1.EndpointSlice) int {
	t.Helper()
	i := slices.IndexFunc(s.Slices, func(o *discoveryv1.EndpointSlice) bool { return o.Name == e.Name && o.UID == e.UID })
	if i < 0 {
		t.Fatalf("write %s: not found", e.Name)
	}
	return i
}

// stored validates a slice and sets its default fields, as the API server does.
func (s *Server) stored(t T, e *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	t.Helper()
	s.Written++
	stored := e.DeepCopy()
	stored.ResourceVersion, stored.Generation = fmt.Sprint(s.Written), stored.Generation+1
	names := map[string]bool{}
	for i := range stored.Ports {
		p := &stored.Ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			p.Protocol = new(corev1.ProtocolTCP)
		}
		if names[*p.Name] {
			t.Fatalf("two ports are named %q", *p.Name)
		}
		names[*p.Name] = true
	}
	if len(stored.Endpoints) > 1000 {
		t.Fatalf("%d endpoints", len(stored.Endpoints))
	}
	for _, e := range stored.Endpoints {
		if len(e.Addresses) == 0 || e.Hostname != nil && len(validation.IsDNS1123Label(*e.Hostname)) > 0 {
			t.Fatalf("a slice has the endpoint %v without an address, or with an invalid hostname", e)
		}
	}
	return stored
}

// Copies returns copies of slices.
func Copies(list []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	all := slices.Clone(list)
	for i, s := range all {
		all[i] = s.DeepCopy()
	}
	return all
}

// Writes returns the number of slices that a plan writes or deletes.
func Writes(p slicestore.Plan) int { return len(p.Create) + len(p.Update) + len(p.Delete) }
