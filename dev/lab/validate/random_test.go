package validate_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dev/lab/history"
)

// TestFaithful shows that correct replicas get no findings, whatever happens to the cluster.
func TestFaithful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t)
		s.run(20 + s.n(60))
		s.end()
		if count, text := objections(s.Sorted()); len(count) > 0 {
			t.Fatalf("objections:\n%s\n%s", text, s)
		}
	})
}

// lies are errors that are sent on a stream after a quiet time. A lie returns false if the state has no
// occasion for it.
var lies = []struct {
	name string
	tell func(*sim, *replica, *simStream) bool
	// One validator of each list must report. V1 reports an old state, unless the replica has sent a newer
	// one on the stream.
	want [][]string
}{
	{"an address is dropped for a moment", func(s *sim, r *replica, c *simStream) bool {
		known := c.knows("")
		if len(known) == 0 {
			return false
		}
		c.removes(known[s.n(len(known))])
		s.tell(r) // adds it again
		return true
	}, [][]string{{"V4"}, {"V1", "V2", "V3"}}},
	{"all addresses are dropped for a moment", func(s *sim, r *replica, c *simStream) bool {
		if len(c.known) == 0 {
			return false
		}
		c.removes(c.knows("")...)
		s.tell(r)
		return true
	}, [][]string{{"V4"}, {"V1", "V2", "V3"}}},
	{"a removed address comes back", func(s *sim, _ *replica, c *simStream) bool {
		at := c.neverAgain(s)
		if at == "" {
			return false
		}
		c.adds("p1=" + at)
		c.removes(at)
		return true
	}, [][]string{{"V1", "V2", "V3"}}},
	{"a removal is skipped", func(s *sim, r *replica, c *simStream) bool {
		known := c.knows("")
		if len(known) == 0 {
			return false
		}
		at := known[s.n(len(known))]
		c.silent[at] = true
		for name, ip := range s.pods {
			if ip+":8080" == at {
				delete(s.pods, name)
				s.remove("pods", name)
			}
		}
		s.passAndRead()
		return true
	}, [][]string{{"V1"}}},
	{"an address is made up", func(_ *sim, _ *replica, c *simStream) bool {
		c.adds("p1=192.0.2.1:8080")
		c.removes("192.0.2.1:8080")
		return true
	}, [][]string{{"V2"}}},
	{"an address is said to be another pod's", func(s *sim, r *replica, c *simStream) bool {
		known := c.knows("")
		if len(known) == 0 {
			return false
		}
		c.adds("nobody=" + known[s.n(len(known))])
		s.tell(r)
		return true
	}, [][]string{{"V2"}}},
	{"a new stream lacks an address", func(s *sim, r *replica, c *simStream) bool {
		known := c.knows("")
		if len(known) < 2 {
			return false
		}
		other := &simStream{client: s.made.open(r.name), silent: map[string]bool{}, answered: true}
		r.streams = append(r.streams, other)
		maps.Copy(other.known, c.known)
		delete(other.known, known[s.n(len(known))])
		other.update(history.Stream{Added: other.knows("")})
		s.tell(r)
		return true
	}, [][]string{{"V4"}}},
	{"a new stream is told that there is nothing", func(s *sim, r *replica, c *simStream) bool {
		if len(c.known) == 0 {
			return false
		}
		other := &simStream{client: s.made.open(r.name), silent: map[string]bool{}, answered: true}
		r.streams = append(r.streams, other)
		other.hasNone("exists")
		s.tell(r)
		return true
	}, [][]string{{"V4"}}},
	{"a Service is said to be missing", func(s *sim, r *replica, _ *simStream) bool {
		s.made.open(r.name).closes("rpc error: code = NotFound desc = service web.lab not found")
		return true
	}, [][]string{{"V4"}}},
	{"a stream stays closed", func(_ *sim, _ *replica, c *simStream) bool {
		c.closes("unavailable")
		return true
	}, [][]string{{"V1"}}},
	{"an answer is repeated", func(_ *sim, _ *replica, c *simStream) bool {
		c.update(history.Stream{Added: c.knows("")})
		return true
	}, [][]string{{"V3"}}},
}

// neverAgain returns an address whose removal was sent and that no pod has any more.
func (c *simStream) neverAgain(s *sim) string {
	for _, at := range c.gone {
		used := false
		for _, ip := range s.pods {
			used = used || ip+":8080" == at
		}
		if _, known := c.known[at]; !used && !known {
			return at
		}
	}
	return ""
}

// TestLies shows that the right validator reports each lie, whatever else happened.
func TestLies(t *testing.T) {
	for _, l := range lies {
		t.Run(l.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSim(t)
				r := s.replicas[0]
				s.run(10 + s.n(40))
				c := s.calmDown(r)
				if !l.tell(s, r, c) {
					t.Skip("no occasion")
				}
				s.end()
				count, text := objections(s.Sorted())
				for _, some := range l.want {
					if !slices.ContainsFunc(some, func(v string) bool { return count[v] > 0 }) {
						t.Fatalf("none of %v objected:\n%s\n%s", some, text, s)
					}
				}
			})
		})
	}
}

// calmDown ends all faults, changes nothing for a while, and returns an open stream.
func (s *sim) calmDown(r *replica) *simStream {
	s.late = 0
	for _, other := range s.replicas {
		if other.cut != 0 {
			s.breakOrMend(other)
		}
	}
	if !s.exists {
		s.recreate()
	}
	s.write()
	s.passAndRead()
	s.pass(time.Minute)
	for _, c := range r.streams {
		if !c.closed {
			return c
		}
	}
	return s.open(r)
}
