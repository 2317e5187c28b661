package catalog

import (
	"slices"
	"testing"
)

// A set of Services becomes stale after a change of its list, and after no other change (spec xds 8.3).
func TestServiceSet(t *testing.T) {
	port := func(n uint16) func(*Service) {
		return func(s *Service) { s.Ports = append(s.Ports, ServicePort{Port: n, Protocol: TCP}) }
	}
	in := func(namespace, name string, change ...func(*Service)) *Service {
		s := &Service{Key: ServiceKey{LocalCluster, namespace, name}}
		for _, f := range change {
			f(s)
		}
		return s
	}
	objects := []Object{in("a", "two"), in("a", "one", port(80)), in("b", "three"), inOtherCluster(in("a", "four"))}
	for name, tc := range map[string]struct {
		put    Object
		remove ID
		stale  []string // the namespaces whose sets are stale, besides that of all
	}{
		"nothing new":                  {put: in("a", "one", port(80))},
		"a Service is created":         {put: in("a", "new"), stale: []string{"a"}},
		"a Service is deleted":         {remove: in("b", "three").ID(), stale: []string{"b"}},
		"a missing Service is deleted": {remove: in("b", "nine").ID()},
		"a port":                       {put: in("a", "one", port(81)), stale: []string{"a"}},
		"the type":                     {put: in("a", "one", port(80), func(s *Service) { s.ExternalName = true }), stale: []string{"a"}},
		"who may see it":               {put: in("a", "one", port(80), func(s *Service) { s.Policy = &TrafficPolicy{VisibleTo: "b"} }), stale: []string{"a"}},
		"another setting":              {put: in("a", "one", port(80), func(s *Service) { s.Policy = &TrafficPolicy{MaxRequests: 1}; s.LocalTraffic = true })},
		"a Service of another cluster": {put: inOtherCluster(in("a", "new"))},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			apply(c, objects...)
			sets := map[string]*ServiceSet{}
			for namespace, want := range map[string][]string{"": {"one", "two", "three"}, "a": {"one", "two"}, "b": {"three"}, "c": nil} {
				set := c.Services([]string{namespace})
				var got []string
				for _, s := range set.Services {
					got = append(got, s.Key.Name)
				}
				if !slices.Equal(got, want) {
					t.Errorf("namespace %q has %v, want %v", namespace, got, want)
				}
				sets[namespace] = set
			}
			if tc.put != nil {
				c.Put(tc.put)
			} else {
				c.Delete(tc.remove)
			}
			c.step()
			for namespace, set := range sets {
				want := slices.Contains(tc.stale, namespace) || namespace == "" && tc.stale != nil
				if isClosed(set.Stale()) != want {
					t.Errorf("the set of namespace %q: stale %v, want %v", namespace, !want, want)
				}
				set.Release()
			}
			if n := len(c.state.dependencies.watchers); n != 0 {
				t.Errorf("%d sets are watched after all were released", n)
			}
		})
	}
}
