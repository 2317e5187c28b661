package catalog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pointers returns the addresses of the Service web, by IP and target.
func pointers(c *Catalog) map[string]*Address {
	out := map[string]*Address{}
	for _, s := range c.Service(serviceKey("web")).members[0].slices {
		for _, subset := range s.subsets {
			for _, a := range subset.addresses {
				name := a.IP.String()
				if a.Target != nil {
					name += " " + a.Target.Key.Name
				}
				out[name] = a
			}
		}
	}
	return out
}

// reuseCase changes a slice with the pods a, b and old, which share an address, and one address without
// targetRef.
type reuseCase struct {
	steps [][]Object
	// remove deletes an object in the last step.
	remove ID
	// added are the addresses with new values, and removed those that no longer exist.
	added, removed []string
}

const (
	addressA    = "10.0.0.1 a"
	addressB    = "10.0.0.2 b"
	addressOld  = "10.0.0.2 old"
	addressBare = "10.0.0.3"
)

func reuseEndpoints(edit func([]SliceEndpoint) []SliceEndpoint) *EndpointSlice {
	list := []SliceEndpoint{
		at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")), at("10.0.0.2", podKey("old")), at("10.0.0.3", WorkloadKey{}),
	}
	return slice("s", "web", IPv4, edit(list)...)
}

func unchanged(l []SliceEndpoint) []SliceEndpoint { return l }

func withGateway(s *EndpointSlice) *EndpointSlice {
	s.GatewayIdentity = "gateway"
	return s
}

var reuseCases = map[string]reuseCase{
	"nothing":                       {},
	"the slice is put again":        {steps: [][]Object{{reuseEndpoints(unchanged)}}},
	"the Service":                   {steps: [][]Object{{service("web")}}},
	"a pod":                         {steps: [][]Object{{pod("a")}}, added: []string{addressA}},
	"an owner":                      {steps: [][]Object{{owner("ReplicaSet", "rs", OwnerRef{"Deployment", "web"})}}, added: []string{addressB}},
	"a Server":                      {steps: [][]Object{{opaqueServer("x", 80, having("app", "a"))}}, added: []string{addressA}},
	"a Server that selects nothing": {steps: [][]Object{{opaqueServer("x", 80, having("app", "x"))}}},
	"another slice":                 {steps: [][]Object{{slice("s2", "web", IPv4, at("10.0.0.7", podKey("a")))}}, added: []string{"10.0.0.7 a"}},
	"a pod is deleted":              {remove: podKey("old").ID(), removed: []string{addressOld}},
	"an endpoint is removed":        {steps: [][]Object{{reuseEndpoints(func(l []SliceEndpoint) []SliceEndpoint { return l[1:] })}}, removed: []string{addressA}},
	"the endpoints change order":    {steps: [][]Object{{reuseEndpoints(func(l []SliceEndpoint) []SliceEndpoint { slices.Reverse(l); return l })}}},
	"an endpoint is added": {
		steps: [][]Object{{reuseEndpoints(func(l []SliceEndpoint) []SliceEndpoint { return append(l, at("10.0.0.0", podKey("a"))) })}},
		added: []string{"10.0.0.0 a"},
	},
	"a hint": {
		steps: [][]Object{{reuseEndpoints(func(l []SliceEndpoint) []SliceEndpoint { l[0].HintZones = []string{"east"}; return l })}}, added: []string{addressA},
	},
	"a zone": {
		steps: [][]Object{{reuseEndpoints(func(l []SliceEndpoint) []SliceEndpoint { l[1].Zone = "east"; return l })}}, added: []string{addressB},
	},
	"a hostname": {
		steps: [][]Object{{reuseEndpoints(func(l []SliceEndpoint) []SliceEndpoint { l[3].Hostname = "h"; return l })}}, added: []string{addressBare},
	},
	"the gateway's identity": {steps: [][]Object{{withGateway(reuseEndpoints(unchanged))}}, added: []string{addressBare}},
	"the port of the slice":  {steps: [][]Object{{serving(reuseEndpoints(unchanged), SubsetPort{"http", 9090})}}},
	// No snapshot is taken between the steps.
	"several steps": {steps: [][]Object{{pod("a")}, {reuseEndpoints(unchanged)}, {pod("a")}, {reuseEndpoints(unchanged)}}, added: []string{addressA}},
	"a slice deleted and back": {
		steps: [][]Object{{reuseEndpoints(func([]SliceEndpoint) []SliceEndpoint { return nil })}, {reuseEndpoints(unchanged)}},
	},
}

// An address is the same value in the next snapshot if it has not changed, so that its encoding can be
// reused.
func TestAddressesAreReused(t *testing.T) {
	for name, tc := range reuseCases {
		t.Run(name, func(t *testing.T) {
			c := started(
				service("web"), pod("a", labelled("app", "a")), pod("b", owned("ReplicaSet", "rs")), pod("old"), reuseEndpoints(unchanged),
			)
			before := pointers(c)
			for _, objects := range tc.steps {
				apply(c, objects...)
			}
			if tc.remove != (ID{}) {
				c.Delete(tc.remove)
				c.step()
			}
			after := pointers(c)
			var fresh, gone []string
			for name, a := range after {
				if before[name] != a {
					fresh = append(fresh, name)
				}
			}
			for name := range before {
				if after[name] == nil {
					gone = append(gone, name)
				}
			}
			slices.Sort(fresh)
			slices.Sort(gone)
			if diff := cmp.Diff(tc.added, fresh); diff != "" {
				t.Errorf("new values (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.removed, gone); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}
