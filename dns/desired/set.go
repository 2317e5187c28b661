package desired

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Origin is who asks for record sets: an object of a source. For a source that returns
// everything at once it is the source.
type Origin struct {
	Source, Namespace, Name string
}

// Set is what all origins ask for. Make one with [New].
type Set struct {
	settings settings
	origins  map[Origin]*asker
	// names has who asks for each canonical name.
	names map[string]*answer

	// stats has the numbers of origins, and those of names as they were last counted; stale
	// are the names that have changed since.
	stats   Stats
	stale   map[string]struct{}
	singles map[string][]count
}

// asker is an origin with what it asks for.
type asker struct {
	Origin
	rank    int
	records records
	// counts has what it asks for in vain.
	counts []count
}

// answer is what is known about a name.
type answer struct {
	// askers are ordered by the places of their sources, and then by their names. There is
	// at least one.
	askers []*asker
	// counts is part of the statistics.
	counts []count
}

// New returns a set for which nobody asks yet. It fails when a setting can't be used.
func New(o Options) (*Set, error) {
	settings, err := o.settings()
	if err != nil {
		return nil, fmt.Errorf("settings of records: %w", err)
	}
	return &Set{
		settings: settings,
		origins:  map[Origin]*asker{},
		names:    map[string]*answer{},
		stats:    Stats{Records: map[string]int{}, Invalid: map[Kind]int{}, Deduplicated: map[Kind]int{}},
		stale:    map[string]struct{}{},
		singles:  map[string][]count{},
	}, nil
}

// Put replaces what an origin asks for; it asks for nothing any more without records. It
// returns the canonical names, sorted, whose answer may have changed, and what can't be
// published of the records, of which each costs only itself. The records must not be
// changed afterwards.
func (s *Set) Put(origin Origin, asked []*dns.RecordSet) (dirty []string, problems []dns.Problem) {
	t := transform{settings: &s.settings, origin: origin}
	now := t.run(asked)
	a := s.origins[origin]
	if a == nil {
		if len(now) == 0 && len(t.counts) == 0 {
			return nil, t.problems
		}
		a = &asker{Origin: origin, rank: s.settings.rank(origin.Source)}
		s.origins[origin] = a
	}
	old := a.records
	for d := range differences(old, now) {
		s.update(a, d)
		dirty = append(dirty, d.name)
	}
	if len(dirty) > 0 {
		a.records = now
	}
	s.stats.recount(a.counts, t.counts)
	if a.counts = t.counts; len(a.records) == 0 && len(a.counts) == 0 {
		delete(s.origins, origin)
	}
	return dirty, t.problems
}

// update makes the askers of a name those that ask for it, after a difference in what one of
// them asks for.
func (s *Set) update(a *asker, d difference) {
	entry := s.names[d.name]
	if entry == nil {
		entry = &answer{}
		s.names[d.name] = entry
	}
	i, _ := slices.BinarySearchFunc(entry.askers, a, compareAskers)
	switch {
	case len(d.old) == 0:
		entry.askers = slices.Insert(entry.askers, i, a)
	case len(d.now) == 0:
		entry.askers = slices.Delete(entry.askers, i, i+1)
	}
	if len(entry.askers) == 0 {
		s.stats.recount(entry.counts, nil)
		delete(s.names, d.name)
		delete(s.stale, d.name)
		return
	}
	s.stale[d.name] = struct{}{}
}

func compareAskers(a, b *asker) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// Has reports whether an origin asks for anything, be it that it can't be published.
func (s *Set) Has(origin Origin) bool { return s.origins[origin] != nil }

// Origins returns who asks for anything, in no order.
func (s *Set) Origins() iter.Seq[Origin] { return maps.Keys(s.origins) }

// Names returns the canonical names that are asked for, in no order.
func (s *Set) Names() iter.Seq[string] { return maps.Keys(s.names) }

// Len returns the number of names that are asked for.
func (s *Set) Len() int { return len(s.names) }

// Asks returns who asks for a name, PTR record sets of addresses included, in the order in
// which they count.
func (s *Set) Asks(name string) []Origin {
	entry := s.names[dns.Canonical(name)]
	if entry == nil {
		return nil
	}
	origins := make([]Origin, len(entry.askers))
	for i, a := range entry.askers {
		origins[i] = a.Origin
	}
	return origins
}
