package desired

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Origin is who asks for record sets: an object of a source. For a source that is polled, it
// is the source itself.
type Origin struct {
	// Kind is that of the object as Kind.group; a source may have objects of several kinds.
	Source, Kind, Namespace, Name string
}

// Set is what all origins ask for. Make one with [New].
type Set struct {
	settings settings
	origins  map[Origin]*request
	// names has who asks for each canonical name.
	names map[string]*nameRequests
	// unresolved counts, by name and namespace, who asks for a name in a way that can't be published.
	unresolved map[string]map[string]int

	// stats has the numbers of all origins, and those of all names as they were last counted.
	// stale are the names that have changed since.
	stats   Stats
	stale   map[string]struct{}
	singles map[string][]count
}

// request is an origin, and what it asks for.
type request struct {
	Origin
	rank    int
	records records
	// unresolved are sorted.
	unresolved []unresolved
	// counts has the record sets that the origin asks for and that are dropped.
	counts []count
}

// nameRequests is what is known about a name.
type nameRequests struct {
	// requests are in the order of their sources, and then of their names. There is at least
	// one.
	requests []*request
	// counts are the name's part of the statistics.
	counts []count
}

// New returns an empty set. It fails if a setting is wrong.
func New(o Options) (*Set, error) {
	settings, err := o.settings()
	if err != nil {
		return nil, fmt.Errorf("settings of records: %w", err)
	}
	return &Set{
		settings:   settings,
		origins:    map[Origin]*request{},
		names:      map[string]*nameRequests{},
		unresolved: map[string]map[string]int{},
		stats:      Stats{Records: map[string]int{}, Invalid: map[Kind]int{}, Deduplicated: map[Kind]int{}},
		stale:      map[string]struct{}{},
		singles:    map[string][]count{},
	}, nil
}

// Put replaces what an origin asks for; without records, the origin asks for nothing any more.
// It returns the canonical names, sorted, whose record sets may have changed, or that are
// unresolved now or no more. It also returns why some record sets can't be published; the
// others are. The records must not be changed afterwards.
func (s *Set) Put(origin Origin, asked []*dns.RecordSet) (dirty []string, problems []dns.Problem) {
	t := transform{settings: &s.settings, origin: origin}
	now := t.run(asked)
	a := s.origins[origin]
	if a == nil {
		if len(now) == 0 && len(t.counts) == 0 {
			return nil, t.problems
		}
		a = &request{Origin: origin, rank: s.settings.rank(origin.Source)}
		s.origins[origin] = a
	}
	dirty = s.setUnresolved(a, unresolvedNow(t.unresolved, now, a))
	old := a.records
	for d := range differences(old, now) {
		s.update(a, d)
		dirty = append(dirty, d.name)
	}
	if len(dirty) > 0 {
		a.records = now
		slices.Sort(dirty)
		dirty = slices.Compact(dirty)
	}
	s.stats.recount(a.counts, t.counts)
	if a.counts = t.counts; len(a.records) == 0 && len(a.counts) == 0 {
		delete(s.origins, origin)
	}
	return dirty, t.problems
}

// update adds or removes an asker of a name, after a difference in what it asks for.
func (s *Set) update(a *request, d difference) {
	entry := s.names[d.name]
	if entry == nil {
		entry = &nameRequests{}
		s.names[d.name] = entry
	}
	i, _ := slices.BinarySearchFunc(entry.requests, a, compareAskers)
	switch {
	case len(d.old) == 0:
		entry.requests = slices.Insert(entry.requests, i, a)
	case len(d.now) == 0:
		entry.requests = slices.Delete(entry.requests, i, i+1)
	}
	if len(entry.requests) == 0 {
		s.stats.recount(entry.counts, nil)
		delete(s.names, d.name)
		delete(s.stale, d.name)
		return
	}
	s.stale[d.name] = struct{}{}
}

func compareAskers(a, b *request) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Kind, b.Kind),
	)
}

// Has reports whether an origin asks for anything, even if that can't be published.
func (s *Set) Has(origin Origin) bool { return s.origins[origin] != nil }

// Origins returns all origins that ask for anything, in no order.
func (s *Set) Origins() iter.Seq[Origin] { return maps.Keys(s.origins) }

// Names returns the canonical names that are asked for, in no order.
func (s *Set) Names() iter.Seq[string] { return maps.Keys(s.names) }

// Len returns the number of names that are asked for.
func (s *Set) Len() int { return len(s.names) }

// Asked reports whether anybody asks for a canonical name.
func (s *Set) Asked(name string) bool { return s.names[name] != nil }

// Askers returns how many origins ask for a canonical name.
func (s *Set) Askers(name string) int {
	if entry := s.names[name]; entry != nil {
		return len(entry.requests)
	}
	return 0
}

// Each returns what each object asks for under a canonical name, before that is merged. The record
// sets must not be changed.
func (s *Set) Each(name string) iter.Seq[*dns.RecordSet] {
	return func(yield func(*dns.RecordSet) bool) {
		entry := s.names[name]
		if entry == nil {
			return
		}
		for _, a := range entry.requests {
			records := a.records.of(name)
			for i := range records {
				if !yield(&records[i].RecordSet) {
					return
				}
			}
		}
	}
}

// NamesOf returns the canonical names that an origin asks for, sorted, also those that can't be
// published.
func (s *Set) NamesOf(origin Origin) []string {
	a := s.origins[origin]
	if a == nil {
		return nil
	}
	var names []string
	for _, r := range a.records {
		names = append(names, r.Name)
	}
	for _, u := range a.unresolved {
		names = append(names, u.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Namespaces returns the namespaces whose objects ask for a canonical name, each once, in the order in which the objects
// are considered. Objects without a namespace have the namespace "".
func (s *Set) Namespaces(name string) []string {
	entry := s.names[name]
	if entry == nil {
		return nil
	}
	if len(entry.requests) == 1 {
		return []string{entry.requests[0].Namespace}
	}
	var namespaces []string
	seen := map[string]struct{}{}
	for _, a := range entry.requests {
		if _, known := seen[a.Namespace]; !known {
			seen[a.Namespace] = struct{}{}
			namespaces = append(namespaces, a.Namespace)
		}
	}
	return namespaces
}

// Asks returns the origins that ask for a name, in the order in which they are considered. An
// address that gets a PTR record set asks for its reverse name.
func (s *Set) Asks(name string) []Origin {
	entry := s.names[dns.Canonical(name)]
	if entry == nil {
		return nil
	}
	origins := make([]Origin, len(entry.requests))
	for i, a := range entry.requests {
		origins[i] = a.Origin
	}
	return origins
}
