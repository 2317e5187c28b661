package publisher

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

// queued returns names whose namespace precedes a dash, and a function that plans one.
func queued() (*names, func(name string, deletes bool)) {
	s := newNames(noMetrics)
	s.namespaceOf = func(name string) string {
		namespace, _, _ := strings.Cut(name, "-")
		return namespace
	}
	s.onlyAdds = func(string) bool { return true }
	return s, func(name string, deletes bool) {
		s.touch(name)
		change := dns.Change{New: &dns.RecordSet{Name: name}}
		if deletes {
			change = dns.Change{Old: change.New}
		}
		s.planned(s.state(name), group{name: name, changes: []dns.Change{change}})
	}
}

// Namespaces take turns with their changes, deletions included, so that one change doesn't wait for
// all of another namespace. Batches are full nevertheless (tenants S3).
func TestNamespacesTakeTurns(t *testing.T) {
	s, plan := queued()
	for i := range 5000 {
		plan(fmt.Sprintf("loud-%d", i), i%2 == 0)
	}
	s.take(0, 1000)
	plan("calm-new", false)
	plan("mild-gone", true)
	batch := s.take(0, 1000)
	if len(batch) != 1000 {
		t.Errorf("a batch has %d names, want 1000", len(batch))
	}
	place := map[string]int{}
	for i, g := range batch {
		place[g.name] = i
	}
	for _, name := range []string{"calm-new", "mild-gone"} {
		if at, taken := place[name]; !taken || at > 3 {
			t.Errorf("%s is number %d of the batch", name, at)
		}
	}
}

// Namespaces also take turns in planning.
func TestNamespacesTakeTurnsInPlanning(t *testing.T) {
	s, _ := queued()
	for i := range 5000 {
		s.touch(fmt.Sprintf("loud-%d", i))
	}
	s.touch("calm-1")
	next := s.next(100)
	if len(next) != 100 {
		t.Fatalf("%d names are planned, want 100", len(next))
	}
	for i, n := range next {
		if n.name == "calm-1" && i < 3 {
			return
		}
	}
	t.Error("the name of the other namespace isn't among the first")
}

// Names that may lose record sets are planned at once, because a budget has to know all losses
// before any is made.
func TestNamesThatMayLoseRecordsAreAllPlanned(t *testing.T) {
	s, _ := queued()
	s.onlyAdds = func(name string) bool { return !strings.HasPrefix(name, "old") }
	for i := range 300 {
		s.touch(fmt.Sprintf("old-%d", i))
		s.touch(fmt.Sprintf("new-%d", i))
	}
	if n := len(s.next(10)); n != 310 {
		t.Errorf("%d names are planned, want 310", n)
	}
}

// After random events, no namespace with planned names is served twice more often than another
// between two turns of it, and a namespace without names is forgotten.
func TestTurnsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, plan := queued()
		published := map[string]bool{}
		s.onlyAdds = func(name string) bool { return !published[name] }
		served := map[string]int{}
		waitingSince := map[string]map[string]int{}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			namespace := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace")
			if rapid.Bool().Draw(t, "plan") {
				if waitingSince[namespace] == nil {
					waitingSince[namespace] = map[string]int{}
					for other, n := range served {
						waitingSince[namespace][other] = n
					}
				}
				plan(fmt.Sprintf("%s-%d", namespace, step), false)
				continue
			}
			for _, g := range s.take(1, 0) {
				turn, _, _ := strings.Cut(g.name, "-")
				served[turn]++
				published[g.name] = true
				s.done(s.all[g.name])
				s.planned(s.all[g.name], group{name: g.name})
				delete(waitingSince, turn)
				for _, n := range s.sorted(planned) {
					if n.namespace == turn {
						waitingSince[turn] = map[string]int{}
						for other, count := range served {
							waitingSince[turn][other] = count
						}
						break
					}
				}
			}
			for who, before := range waitingSince {
				for other, n := range served {
					if other != who && n-before[other] > 2 {
						t.Fatalf("%s waits, and %s was served %d times", who, other, n-before[other])
					}
				}
			}
		}
		s.take(0, 0)
		for _, n := range s.sorted(applying) {
			published[n.name] = true
			s.done(n)
			s.planned(n, group{name: n.name})
		}
		if len(s.turns.users) > 0 {
			t.Fatalf("turns are left of %v", s.turns.users)
		}
	})
}
