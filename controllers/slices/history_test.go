package slices_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/internal/history"
)

func endpoints(ready map[string]bool) func(*discoveryv1.EndpointSlice) {
	return func(e *discoveryv1.EndpointSlice) {
		e.Endpoints = nil
		for address, is := range ready {
			e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &is}})
		}
	}
}

// The history has each own write with the addresses that became ready or were removed, even if the table
// lacks the version before, and each external write.
func TestHistory(t *testing.T) {
	s := newFixture(t)
	var got []string
	remembered := func() []string {
		got = nil
		key := history.Key{Namespace: s.ns, Name: "web"}
		s.history.Walk(history.Scope{Key: &key}, time.Time{}, func(_ history.Key, e history.Entry) {
			got = append(got, fmt.Sprintf("%d %s %s %d/%d +%v -%v %s", e.Action, e.Source, e.Object, e.Endpoints, e.NotReady, e.Added, e.Removed, e.By))
		})
		return got
	}
	e := s.create(named("web-1"), endpoints(map[string]bool{"10.0.0.1": true, "10.0.0.2": false}))
	for _, ready := range []map[string]bool{
		{"10.0.0.1": true, "10.0.0.2": true},
		{"10.0.0.1": false, "10.0.0.2": true},
	} {
		next := e.DeepCopy()
		endpoints(ready)(next)
		var err error
		e, err = s.Update(s.Context(), s.service, next)
		s.must(err)
	}
	s.must(s.Delete(s.Context(), s.service, e))
	s.create(named("web-2"))
	s.follow()
	s.edit("web-2", endpoints(map[string]bool{"10.0.0.9": true}))
	s.eventually(func() error {
		want := []string{
			"1 test EndpointSlice/web-1 1/1 +[10.0.0.1:0] -[] ",
			"2 test EndpointSlice/web-1 2/0 +[10.0.0.2:0] -[] ",
			"2 test EndpointSlice/web-1 1/1 +[] -[10.0.0.1:0] ",
			"3 test EndpointSlice/web-1 0/0 +[] -[10.0.0.2:0] ",
			"1 test EndpointSlice/web-2 1/0 +[10.0.0.1:0] -[] ",
			"5 test  0/0 +[] -[] slices.test",
		}
		if diff := cmp.Diff(want, remembered()); diff != "" {
			return fmt.Errorf("history (-want +got):\n%s", diff)
		}
		return nil
	})
}
