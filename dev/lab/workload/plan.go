package workload

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Settings determine the workload.
type Settings struct {
	Seed      uint64
	Namespace string  // of all objects but the nodes; "lab" if empty
	Zone      string  // absolute name; "lab.example." if empty
	Rate      float64 // average number of edits per second, of objects and zone together; 10 if zero
}

// Plan is a workload. All its methods are pure.
type Plan struct{ settings Settings }

// New returns the workload of a seed.
func New(s Settings) (Plan, error) {
	s.Namespace = cmp.Or(s.Namespace, "lab")
	s.Zone = cmp.Or(s.Zone, "lab.example.")
	s.Rate = cmp.Or(s.Rate, 10)
	if s.Rate < 0.1 || s.Rate > 1000 {
		return Plan{}, fmt.Errorf("plan a workload: %g edits a second: give a rate from 0.1 to 1000", s.Rate)
	}
	if !strings.HasSuffix(s.Zone, ".") || s.Zone == "." {
		return Plan{}, fmt.Errorf("plan a workload: the zone %q is not an absolute name: end it with a dot", s.Zone)
	}
	return Plan{s}, nil
}

// Initial returns the edits that create the initial objects, in a possible order. The namespace is not among
// them.
func (p Plan) Initial() []Edit {
	s := newSimulation(p.settings)
	return s.beginning()
}

// Edits returns the endless sequence of later edits, in the order of At.
func (p Plan) Edits() iter.Seq[Edit] {
	return func(yield func(Edit) bool) {
		s := newSimulation(p.settings)
		s.beginning()
		for {
			for _, e := range s.next() {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// stamp returns the time in conditions, which is the same in each run of a seed.
func stamp(at time.Duration) time.Time {
	return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).Add(at.Truncate(time.Second))
}
