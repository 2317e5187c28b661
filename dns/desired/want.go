package desired

import (
	"cmp"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Want returns the record sets that a name should have, or nil if nobody asks for it. What
// objects of one source ask for is merged ([dns.Merge]). The sources follow in their order,
// without record sets that are equal to an earlier one. PTR record sets that addresses ask for
// come last. So there can be several record sets of one type; dns/plan chooses one.
func (s *Set) Want(name string) []*dns.RecordSet {
	name = dns.Canonical(name)
	entry := s.names[name]
	if entry == nil {
		return nil
	}
	sets, dropped := s.merged(name, entry.askers)
	s.completeTTLs(sets)
	if _, ok := s.stale[name]; ok {
		delete(s.stale, name)
		counts := s.countsOf(sets, dropped)
		s.stats.recount(entry.counts, counts)
		entry.counts = counts
	}
	return sets
}

// WantOf is Want for what the objects of some namespaces ask for.
func (s *Set) WantOf(name string, namespaces ...string) []*dns.RecordSet {
	name = dns.Canonical(name)
	entry := s.names[name]
	if entry == nil || len(namespaces) == 0 {
		return nil
	}
	askers := entry.askers
	if outside := func(a *asker) bool { return !slices.Contains(namespaces, a.Namespace) }; slices.ContainsFunc(askers, outside) {
		askers = slices.DeleteFunc(slices.Clone(askers), outside)
	}
	sets, _ := s.merged(name, askers)
	s.completeTTLs(sets)
	return sets
}

// completeTTLs sets the TTL of new record sets that ask for none.
func (s *Set) completeTTLs(sets []*dns.RecordSet) {
	for _, r := range sets {
		if r.TTL == 0 {
			r.TTL = s.settings.ttl
		}
	}
}

// merged returns new record sets for what origins ask for under a name, and those that were
// dropped because another one is equal.
func (s *Set) merged(name string, askers []*asker) (sets, dropped []*dns.RecordSet) {
	var pointers records
	for len(askers) > 0 {
		n := 1
		for n < len(askers) && askers[n].Source == askers[0].Source {
			n++
		}
		var asked []*dns.RecordSet
		for _, a := range askers[:n] {
			records := a.records.of(name)
			for i := range records {
				if r := &records[i]; r.derived {
					pointers = append(pointers, *r)
				} else {
					asked = append(asked, r.set())
				}
			}
		}
		if len(asked) > 1 {
			if slices.Contains(s.settings.OneTTL, askers[0].Source) {
				alignTTLs(asked)
			}
			asked = dns.Merge(asked)
		}
		sets = append(sets, asked...)
		askers = askers[n:]
	}
	sets, dropped = deduplicate(sets)
	if len(pointers) > 0 {
		sets = append(sets, mergePointers(pointers))
	}
	return sets, dropped
}

// alignTTLs gives all record sets of a type and set identifier the TTL of the first one by
// resource, so that Services with different TTLs can share a name (spec/dns.md §6.3).
func alignTTLs(asked []*dns.RecordSet) {
	slices.SortStableFunc(asked, func(a, b *dns.RecordSet) int {
		return cmp.Compare(a.Labels[dns.LabelResource], b.Labels[dns.LabelResource])
	})
	first := make(map[dns.Key]int64, len(asked))
	for _, r := range asked {
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
