package desired

import (
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// Kind is the category by which dropped record sets are counted.
type Kind struct {
	// Type is the type of the record set.
	Type string
	// Source is the source of the first object, or "unknown" if there is none.
	Source string
}

// Stats are counts of record sets (spec/dns.md §10, subsystem source).
type Stats struct {
	// Records counts the wanted record sets by type.
	Records map[string]int
	// Invalid counts the record sets that can't be published. Deduplicated counts those that were
	// dropped because an equal one exists.
	Invalid, Deduplicated map[Kind]int
	// NotAllowed counts the record sets whose name is in no domain of their namespace.
	NotAllowed int
}

// Stats returns the current counts, which the caller may keep. Its cost depends on the number of
// names that have changed since the last call of Stats and of Want for them.
func (s *Set) Stats() Stats {
	for name := range s.stale {
		s.Want(name)
	}
	// A map never shrinks, and the first fill makes this one large.
	s.stale = map[string]struct{}{}
	return Stats{
		Records:      maps.Clone(s.stats.Records),
		Invalid:      maps.Clone(s.stats.Invalid),
		Deduplicated: maps.Clone(s.stats.Deduplicated),
		NotAllowed:   s.stats.NotAllowed,
	}
}

func kindOf(r *dns.RecordSet) Kind {
	k := Kind{Type: r.Type, Source: "unknown"}
	if len(r.Objects) > 0 && r.Objects[0].Source != "" {
		k.Source = r.Objects[0].Source
	}
	return k
}

// outcome is the result of processing a record set.
type outcome uint8

const (
	// wanted record sets are counted by type only.
	wanted outcome = iota
	invalid
	duplicate
	notAllowed
)

// count is a number of record sets of one category.
type count struct {
	Kind
	outcome outcome
	n       int
}

// addCount adds a count to a list, which is short.
func addCount(counts []count, c count) []count {
	for i := range counts {
		if counts[i].Kind == c.Kind && counts[i].outcome == c.outcome {
			counts[i].n += c.n
			return counts
		}
	}
	return append(counts, c)
}

// recount replaces old counts by new ones.
func (s *Stats) recount(old, now []count) {
	if slices.Equal(old, now) {
		return
	}
	for _, c := range old {
		s.add(c, -c.n)
	}
	for _, c := range now {
		s.add(c, c.n)
	}
}

func (s *Stats) add(c count, n int) {
	switch c.outcome {
	case wanted:
		addTo(s.Records, c.Type, n)
	case invalid:
		addTo(s.Invalid, c.Kind, n)
	case duplicate:
		addTo(s.Deduplicated, c.Kind, n)
	case notAllowed:
		s.NotAllowed += n
	}
}

func addTo[K comparable](numbers map[K]int, key K, n int) {
	if numbers[key] += n; numbers[key] == 0 {
		delete(numbers, key)
	}
}

// countsOf returns the counts for the results of Want.
func (s *Set) countsOf(sets []plan.Candidate, dropped []*dns.RecordSet) []count {
	if len(sets) == 1 && len(dropped) == 0 {
		// Most names have one record set. They share one slice per type.
		single, ok := s.singles[sets[0].Set.Type]
		if !ok {
			single = []count{{Kind: Kind{Type: sets[0].Set.Type}, n: 1}}
			s.singles[sets[0].Set.Type] = single
		}
		return single
	}
	var counts []count
	for _, a := range sets {
		counts = addCount(counts, count{Kind: Kind{Type: a.Set.Type}, n: 1})
	}
	for _, r := range dropped {
		counts = addCount(counts, count{Kind: kindOf(r), outcome: duplicate, n: 1})
	}
	return slices.Clip(counts)
}
