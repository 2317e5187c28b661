package externalworkloads

import (
	"maps"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/testkit/slicetest"
)

// TestMovedEndpointsAreNeverMissing changes the ports of three workloads at once and checks the slices after
// each write.
func TestMovedEndpointsAreNeverMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &generator{service: drawService(t), workloads: map[string]*Workload{}, server: &slicetest.Server{}, max: 5}
		for range 5 {
			for _, o := range machines(1, 3) {
				o.Ports = rapid.SliceOfN(poolOfPorts, 0, 2).Draw(t, "ports")
				w.workloads[o.Name] = o
			}
			before := countEndpoints(w.server.Slices)
			for _, write := range single(w.compute()) {
				w.server.Apply(t, write.Plan)
				for name := range before {
					if countEndpoints(w.server.Slices)[name] == 0 {
						t.Fatalf("%s is missing after %q", name, text(write))
					}
				}
			}
			if after := countEndpoints(w.server.Slices); len(before) > 0 && !maps.Equal(before, after) {
				t.Fatalf("%v became %v", before, after)
			}
		}
	})
}

// single returns the writes of a plan one by one.
func single(p Plan) []Plan {
	var writes []Plan
	for _, s := range p.Create {
		writes = append(writes, Plan{Plan: slicestore.Plan{Create: []*discoveryv1.EndpointSlice{s}}})
	}
	for _, s := range p.Update {
		writes = append(writes, Plan{Plan: slicestore.Plan{Update: []*discoveryv1.EndpointSlice{s}}})
	}
	for _, s := range p.Delete {
		writes = append(writes, Plan{Plan: slicestore.Plan{Delete: []*discoveryv1.EndpointSlice{s}}})
	}
	return writes
}
