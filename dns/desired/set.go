package desired

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

// Origin is an object of a source that asks for record sets. For a polled source, it is the source
// itself.
type Origin struct {
	// Kind has the form Kind.group, because a source may have objects of several kinds.
	Source, Kind, Namespace, Name string
}

// Set stores the record sets that all origins ask for. [New] creates it.
type Set struct {
	settings settings
	origins  map[Origin]*request
	// names has the requests for each canonical name.
	names map[string]*nameRequests
	// describing has, for each name, the requested names that may say something about it
	// ([tenancy.DescribedBy]).
	describing map[string]map[string]struct{}
	// unresolved counts, by name and namespace, the objects that ask for a name with a record set that
	// can't be published.
	unresolved map[string]map[string]int

	// stats has the counts of all origins, and of all names as last counted. stale are the names that
	// have changed since.
	stats   Stats
	stale   map[string]struct{}
	singles map[string][]count
}

// request is an origin and the record sets that it asks for.
type request struct {
	Origin
	rank    int
	records records
	// unresolved are sorted.
	unresolved []unresolved
	// counts are the dropped record sets of the origin.
	counts []count
}

type nameRequests struct {
	// requests are ordered by source, then by object. There is at least one.
	requests []*request
	// counts are the name's part of the statistics.
	counts []count
}

// New returns an empty set. It fails if a setting is invalid.
func New(o Options) (*Set, error) {
	settings, err := o.settings()
	if err != nil {
		return nil, fmt.Errorf("settings of records: %w", err)
	}
	return &Set{
		settings:   settings,
		origins:    map[Origin]*request{},
		names:      map[string]*nameRequests{},
		describing: map[string]map[string]struct{}{},
		unresolved: map[string]map[string]int{},
		stats:      Stats{Records: map[string]int{}, Invalid: map[Kind]int{}, Deduplicated: map[Kind]int{}},
		stale:      map[string]struct{}{},
		singles:    map[string][]count{},
	}, nil
}

// Put replaces the record sets of an origin; without any, the origin is removed. It returns the
// canonical names, sorted, whose record sets may have changed or that became unresolved or
// resolved. It also returns the problems of record sets that can't be published. The records must
// not be changed afterwards.
func (s *Set) Put(origin Origin, requested []*dns.RecordSet) (dirty []string, problems []dns.Problem) {
	t := transform{settings: &s.settings, origin: origin}
	now := t.run(requested)
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

// update adds or removes the request of a name, given a difference of its records.
func (s *Set) update(a *request, d difference) {
	entry := s.names[d.name]
	if entry == nil {
		entry = &nameRequests{}
		s.names[d.name] = entry
		s.describe(d.name)
	}
	i, _ := slices.BinarySearchFunc(entry.requests, a, compareRequests)
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
		s.undescribe(d.name)
		return
	}
	s.stale[d.name] = struct{}{}
}

// describe notes which names a requested name may say something about.
func (s *Set) describe(name string) {
	for _, other := range tenancy.DescribedBy(name) {
		if s.describing[other] == nil {
			s.describing[other] = map[string]struct{}{}
		}
		s.describing[other][name] = struct{}{}
	}
}

func (s *Set) undescribe(name string) {
	for _, other := range tenancy.DescribedBy(name) {
		if delete(s.describing[other], name); len(s.describing[other]) == 0 {
			delete(s.describing, other)
		}
	}
}

// Describing returns the requested names that may say something about a canonical name, such as
// _acme-challenge.www.example.org about www.example.org, in no order.
func (s *Set) Describing(name string) iter.Seq[string] { return maps.Keys(s.describing[name]) }

func compareRequests(a, b *request) int {
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

// Names returns the requested canonical names, in no order.
func (s *Set) Names() iter.Seq[string] { return maps.Keys(s.names) }

// Len returns the number of requested names.
func (s *Set) Len() int { return len(s.names) }

// Contains reports whether any object asks for a canonical name.
func (s *Set) Contains(name string) bool { return s.names[name] != nil }

// CountOrigins returns how many origins ask for a canonical name.
func (s *Set) CountOrigins(name string) int {
	if entry := s.names[name]; entry != nil {
		return len(entry.requests)
	}
	return 0
}

// Each returns the record sets of each object under a canonical name, before merging. They must not
// be changed.
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

// NamesOf returns the canonical names that an origin asks for, sorted, including those that can't
// be published.
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

// Namespaces returns the namespaces whose objects ask for a canonical name, each once, in the order
// of the objects. Objects without a namespace have the namespace "".
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

// OriginsOf returns the origins that ask for a name, in order. An address with a PTR record set asks for
// its reverse name.
func (s *Set) OriginsOf(name string) []Origin {
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

// RequestsOf returns the record sets of each origin that [Set.OriginsOf] returns, before merging. They
// must not be changed.
func (s *Set) RequestsOf(name string) [][]*dns.RecordSet {
	name = dns.Canonical(name)
	entry := s.names[name]
	if entry == nil {
		return nil
	}
	sets := make([][]*dns.RecordSet, len(entry.requests))
	for i, a := range entry.requests {
		records := a.records.of(name)
		for j := range records {
			sets[i] = append(sets[i], &records[j].RecordSet)
		}
	}
	return sets
}
