package destination

import (
	"testing"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/history"
)

// toggled returns two snapshots of the Service web with n endpoints, the second without one of them, and a
// topic for them.
func toggled(tb testing.TB, n int) (*topic, [2]*catalog.Snapshot) {
	tb.Helper()
	objects, s := manyEndpoints(n)
	fewer := *s
	without := append(s.Subsets[0].Endpoints[:n/2:n/2], s.Subsets[0].Endpoints[n/2+1:]...)
	fewer.Subsets = []catalog.Subset{{Ports: s.Subsets[0].Ports, Endpoints: without}}

	// One catalog, so that unchanged addresses are the same values in both snapshots.
	c := settled(tb, objects...)
	all := c.Service(serviceKey("web"))
	putInto(tb, c, &fewer, all)
	config := testConfig()
	return &topic{query: query{service: serviceKey("web"), port: 80}, catalog: c, config: &config}, [2]*catalog.Snapshot{all, c.Service(serviceKey("web"))}
}

// republish makes the view publish the response for a snapshot.
func (s *topic) republish(v *view, snapshot *catalog.Snapshot) bool {
	s.snapshot = snapshot
	next := s.resolve(v)
	d, published := v.publish(next)
	if published && s.config.History != nil {
		var sent sentChanges
		sent.add(v, next, d)
		s.remember(sent)
	}
	return published
}

func (s *topic) firstView(snapshot *catalog.Snapshot) *view {
	s.snapshot = snapshot
	v := &view{}
	first := s.resolve(v)
	v.entries = first.entries
	v.current.Store(first)
	return v
}

// BenchmarkStep measures a change of one of 1,000 endpoints in a view, with any number of streams, without
// and with a history.
func BenchmarkStep(b *testing.B) {
	for name, bytes := range map[string]int{"history=no": 0, "history=yes": history.DefaultBytes} {
		b.Run(name, func(b *testing.B) {
			s, snapshots := toggled(b, 1000)
			s.config.History = history.New(bytes, nil)
			v := s.firstView(snapshots[0])
			b.ReportAllocs()
			for i := 1; b.Loop(); i++ {
				if !s.republish(v, snapshots[i%2]) {
					b.Fatal("nothing changed")
				}
			}
		})
	}
}

// BenchmarkFirstResponse measures the first response with 1,000 endpoints: for a new view, and for another
// stream of a view.
func BenchmarkFirstResponse(b *testing.B) {
	s, snapshots := toggled(b, 1000)
	b.Run("view=new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.firstView(snapshots[0]).current.Load().fullFrames()
		}
	})
	b.Run("view=known", func(b *testing.B) {
		v := s.firstView(snapshots[0])
		b.ReportAllocs()
		for b.Loop() {
			v.current.Load().fullFrames()
		}
	})
}

// The allocations of a change don't grow with the number of unchanged endpoints, and another stream allocates
// nothing.
func TestAllocations(t *testing.T) {
	of := func(n int) float64 {
		s, snapshots := toggled(t, n)
		v, i := s.firstView(snapshots[0]), 0
		return testing.AllocsPerRun(100, func() {
			i++
			s.republish(v, snapshots[i%2])
		})
	}
	few, many := of(100), of(2000)
	if many > few+10 || many > 100 {
		t.Errorf("a change costs %v allocations among 100 endpoints, %v among 2,000", few, many)
	}
	s, snapshots := toggled(t, 1000)
	v := s.firstView(snapshots[0])
	if n := testing.AllocsPerRun(100, func() { v.current.Load().fullFrames() }); n > 0 {
		t.Errorf("another stream makes %v allocations for its first response", n)
	}
}
