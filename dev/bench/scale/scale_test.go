package scale

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

// The share of garbage collection leaves out what cores do that are idle.
func TestCollecting(t *testing.T) {
	log := `time=x level=info msg=Serving
gc 1 @0.010s 2%: 0.50+1.0+0.25 ms clock, 1.0+2.0/3.0/40.0+0.5 ms cpu, 4->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @0.020s 3%: 0.50+1.0+0.25 ms clock, 1.0+0/0/40.0+0 ms cpu, 4->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
`
	if percent, took := collecting(log); percent != 3 || took != 7500*time.Microsecond {
		t.Errorf("got %g %% and %s, want 3 %% and 7.5 ms", percent, took)
	}
}

// The memory of a process that grows by one has a slope of one.
func TestSlope(t *testing.T) {
	if per, mean := slope([]float64{5, 6, 7, 8}); per != 1 || mean != 6.5 {
		t.Errorf("got %g and %g", per, mean)
	}
	if per, _ := slope([]float64{5, 7, 7, 5}); per != 0 {
		t.Errorf("got %g", per)
	}
}

// A stream is exact when it has all endpoints but the one that isn't ready.
func TestChurnExact(t *testing.T) {
	k := &simulation.Cluster{Size: simulation.Size{Services: 20, Pods: 2}}
	m := &mesh.Mesh{Size: k.Size}
	m.Streams = []*mesh.Stream{{Mesh: m, Service: 3}}
	ch := newChurn(k, m, 1)
	for _, c := range []struct {
		flips int
		have  []uint32
		exact bool
	}{
		{0, []uint32{6, 7}, true},
		{0, []uint32{6}, false},
		{1, []uint32{7}, true},
		{1, []uint32{6, 7}, false},
		{2, []uint32{6, 7}, true},
		{3, []uint32{6}, true},
		{3, []uint32{7}, false},
		{3, []uint32{6, 8}, false},
	} {
		s := m.Streams[0]
		s.Have, ch.flips[0] = map[uint32]struct{}{}, c.flips
		for _, i := range c.have {
			s.Have[10<<24|64<<16|i] = struct{}{}
		}
		if got := ch.exact(0, s); got != c.exact {
			t.Errorf("after %d flips, %v is exact: %t", c.flips, c.have, got)
		}
	}
}
