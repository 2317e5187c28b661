package desired

import (
	"cmp"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Want returns the record sets that a name is to have; nil if nobody asks for it. Those that
// objects of one source ask for are merged ([dns.Merge]); sources follow each other in their
// order, without what one before them said in the same words, and then what addresses ask
// for. So there can be several for one type, of which dns/plan takes one.
func (s *Set) Want(name string) []*dns.RecordSet {
	name = dns.Canonical(name)
	entry := s.names[name]
	if entry == nil {
		return nil
	}
	sets, dropped := merged(name, entry.askers)
	for _, r := range sets {
		if r.TTL == 0 {
			// The record sets were made for the caller by merged.
			r.TTL = s.settings.ttl
		}
	}
	if _, ok := s.stale[name]; ok {
		delete(s.stale, name)
		counts := s.countsOf(sets, dropped)
		s.stats.recount(entry.counts, counts)
		entry.counts = counts
	}
	return sets
}

// merged returns new record sets for what origins ask for under a name, and those that
// were dropped because others say the same.
func merged(name string, askers []*asker) (sets, dropped []*dns.RecordSet) {
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
		sets = append(sets, mergeSource(askers[0].Source, asked)...)
		askers = askers[n:]
	}
	sets, dropped = deduplicate(sets)
	if len(pointers) > 0 {
		sets = append(sets, mergePointers(pointers))
	}
	return sets, dropped
}

// mergeSource merges what objects of one source ask for under a name.
func mergeSource(source string, asked []*dns.RecordSet) []*dns.RecordSet {
	if len(asked) < 2 {
		return asked
	}
	if source == "service" {
		alignTTLs(asked)
	}
	return dns.Merge(asked)
}

// alignTTLs gives record sets of one type and set identifier the TTL of the first by
// resource, so that Services with different ones share a name (spec/dns.md §6.3).
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
