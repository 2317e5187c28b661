package desired

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// Want returns the record sets that a name should have, or nil if no object asks for it. Record
// sets of one source are merged ([dns.Merge]). Sources follow in their order, without record sets
// that equal an earlier one. PTR record sets for addresses come last. The result may have several
// record sets of one type; package plan chooses one.
func (s *Set) Want(name string) []*dns.RecordSet {
	return plan.Sets(s.Candidates(name, nil))
}

// Candidates returns the record sets of Want with the positions of their sources. Among merged or equal
// record sets, the one with the lowest rank gives the label, the TTL and the properties (plan.Rank). With a
// nil rank, all are equal.
func (s *Set) Candidates(name string, rank func(*dns.RecordSet) int) []plan.Candidate {
	name = dns.Canonical(name)
	entry := s.names[name]
	if entry == nil {
		return nil
	}
	sets, dropped := s.merged(name, entry.requests, rank)
	s.completeTTLs(sets)
	if _, ok := s.stale[name]; ok {
		delete(s.stale, name)
		counts := s.countsOf(sets, dropped)
		s.stats.recount(entry.counts, counts)
		entry.counts = counts
	}
	return sets
}

// WantOf is Want for the objects of some namespaces.
func (s *Set) WantOf(name string, namespaces ...string) []*dns.RecordSet {
	return plan.Sets(s.CandidatesOf(name, nil, namespaces...))
}

// CandidatesOf is Candidates for the objects of some namespaces.
func (s *Set) CandidatesOf(name string, rank func(*dns.RecordSet) int, namespaces ...string) []plan.Candidate {
	name = dns.Canonical(name)
	entry := s.names[name]
	if entry == nil || len(namespaces) == 0 {
		return nil
	}
	requests := entry.requests
	if outside := func(a *request) bool { return !slices.Contains(namespaces, a.Namespace) }; slices.ContainsFunc(requests, outside) {
		requests = slices.DeleteFunc(slices.Clone(requests), outside)
	}
	sets, _ := s.merged(name, requests, rank)
	s.completeTTLs(sets)
	return sets
}

// completeTTLs sets the TTL of record sets that ask for none. They were made by merged, so they may
// be changed.
func (s *Set) completeTTLs(candidates []plan.Candidate) {
	for _, a := range candidates {
		if a.Set.TTL == 0 {
			a.Set.TTL = s.settings.ttl
		}
	}
}

// merged returns new record sets for the requests of a name, and those that were dropped because an
// equal one exists.
func (s *Set) merged(name string, requests []*request, rank func(*dns.RecordSet) int) (sets []plan.Candidate, dropped []*dns.RecordSet) {
	var pointers records
	for len(requests) > 0 {
		n := 1
		for n < len(requests) && requests[n].Source == requests[0].Source {
			n++
		}
		var candidates []*dns.RecordSet
		for _, a := range requests[:n] {
			records := a.records.of(name)
			for i := range records {
				if r := &records[i]; r.derived {
					pointers = append(pointers, *r)
				} else {
					candidates = append(candidates, r.set())
				}
			}
		}
		if len(candidates) > 1 {
			rank := rankOnce(candidates, rank)
			if slices.Contains(s.settings.OneTTL, requests[0].Source) {
				alignTTLs(candidates, rank)
			}
			candidates = dns.MergeBy(candidates, rank)
		}
		for _, r := range candidates {
			sets = append(sets, plan.Candidate{Set: r, Source: requests[0].rank})
		}
		requests = requests[n:]
	}
	sets, dropped = withoutEqual(sets, rank)
	if len(pointers) > 0 {
		sets = append(sets, plan.Candidate{Set: mergePointers(pointers), Source: len(s.settings.ranks)})
	}
	return sets, dropped
}

// rankOnce returns the ranks of record sets before alignTTLs changes their TTLs, which ranks depend
// on.
func rankOnce(candidates []*dns.RecordSet, rank func(*dns.RecordSet) int) func(*dns.RecordSet) int {
	if rank == nil {
		return nil
	}
	ranks := make(map[*dns.RecordSet]int, len(candidates))
	for _, r := range candidates {
		ranks[r] = rank(r)
	}
	return func(r *dns.RecordSet) int { return ranks[r] }
}

// withoutEqual keeps one of equal record sets of an object, or of several sources, with the objects of all:
// the one with the least rank, else the first.
func withoutEqual(sets []plan.Candidate, rank func(*dns.RecordSet) int) (kept []plan.Candidate, dropped []*dns.RecordSet) {
	if len(sets) < 2 {
		return sets, nil
	}
	places := make(map[sameKey]int, len(sets))
	for _, a := range sets {
		key := sameKey{Key: a.Set.Key(), targets: strings.Join(a.Set.Targets, "\x00")}
		i, known := places[key]
		if !known {
			places[key] = len(kept)
			kept = append(kept, a)
			continue
		}
		first, other := kept[i], a
		if rank != nil && rank(other.Set) < rank(first.Set) {
			first, other = other, first
		}
		one := *first.Set
		one.Objects = dns.JoinObjects(one.Objects, other.Set.Objects)
		kept[i] = plan.Candidate{Set: &one, Source: first.Source}
		dropped = append(dropped, other.Set)
	}
	return kept, dropped
}

// alignTTLs gives all record sets of a type and set identifier the TTL of the first one in the
// order of [dns.MergeBy], so that Services with different TTLs can share a name (spec/dns.md §6.3).
func alignTTLs(candidates []*dns.RecordSet, rank func(*dns.RecordSet) int) {
	first := make(map[dns.Key]int64, len(candidates))
	for _, r := range dns.SortForMerge(candidates, rank) {
		if r.Type == dns.TypeCNAME || r.Type == dns.TypeDNAME {
			continue
		}
		if ttl, ok := first[r.Key()]; ok {
			r.TTL = ttl
		} else {
			first[r.Key()] = r.TTL
		}
	}
}
