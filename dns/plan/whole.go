package plan

import (
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Whole decides everything that a filter admits, nil being all, name by name in the order of
// the names. The result is that of [Name] for each name. Names that can't be compared
// because they are none are decided too: who doesn't want that leaves them out.
func Whole(current []Current, wanted []*dns.RecordSet, filter dns.Filter, rules *Rules) Outcome {
	type side struct {
		current []Current
		wanted  []*dns.RecordSet
	}
	names := make(map[string]side, max(len(current), len(wanted)))
	admitted := func(name string) bool { return filter == nil || filter.Match(name) }
	for _, c := range current {
		if name := dns.Canonical(c.Set.Name); admitted(name) {
			s := names[name]
			s.current = append(s.current, c)
			names[name] = s
		}
	}
	for _, w := range wanted {
		if name := dns.Canonical(w.Name); admitted(name) {
			s := names[name]
			s.wanted = append(s.wanted, w)
			names[name] = s
		}
	}
	var all Outcome
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out := Name(names[name].current, names[name].wanted, rules)
		all.Changes = append(all.Changes, out.Changes...)
		all.Conflicts = append(all.Conflicts, out.Conflicts...)
		all.Dropped = append(all.Dropped, out.Dropped...)
	}
	return all
}
