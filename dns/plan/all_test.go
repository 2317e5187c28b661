package plan

import (
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// decideAll calls [Name] for each name that one of two lists has, in the order of the names, and
// returns the outcomes as one.
func decideAll(current []Current, wanted []*dns.RecordSet, rules *Rules) Outcome {
	type side struct {
		current []Current
		wanted  []*dns.RecordSet
	}
	names := make(map[string]side, max(len(current), len(wanted)))
	for _, c := range current {
		name := dns.Canonical(c.Set.Name)
		s := names[name]
		s.current = append(s.current, c)
		names[name] = s
	}
	for _, w := range wanted {
		name := dns.Canonical(w.Name)
		s := names[name]
		s.wanted = append(s.wanted, w)
		names[name] = s
	}
	var all Outcome
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out := Name(names[name].current, candidates(names[name].wanted...), rules)
		all.Changes = append(all.Changes, out.Changes...)
		all.Conflicts = append(all.Conflicts, out.Conflicts...)
		all.Lost = append(all.Lost, out.Lost...)
	}
	return all
}

// candidates returns record sets as candidates of one source.
func candidates(wanted ...*dns.RecordSet) []Candidate {
	list := make([]Candidate, len(wanted))
	for i, w := range wanted {
		list[i].Set = w
	}
	return list
}
