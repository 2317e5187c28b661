package dns

import (
	"cmp"
	"slices"
	"strings"
)

// Merge merges record sets with the same name, type, set identifier and TTL (spec/dns.md §1.8). The
// merged record set has the union of the targets, sorted, and of the objects. Everything else is
// that of the first one, in the order of the label resource, then of the list.
//
// CNAME and DNAME record sets may have one target only. They are merged only if their first targets
// are equal, and dropped if they have none. Aliases are not merged with record sets that have
// addresses as targets. The result is sorted by name, type, set identifier and label. Merge doesn't
// change its argument.
func Merge(sets []*RecordSet) []*RecordSet { return MergeBy(sets, nil) }

// MergeBy is Merge with another order: the record set with the least rank is first, then the one
// with the least label resource. With the rank of package plan, label, TTL and properties are those
// of the holder. A nil rank gives all the same rank.
func MergeBy(sets []*RecordSet, rank func(*RecordSet) int) []*RecordSet {
	sorted := SortForMerge(sets, rank)
	groups := make(map[mergeKey]int, len(sorted))
	merged := make([][]*RecordSet, 0, len(sorted))
	for _, r := range sorted {
		key := mergeKey{Key: r.Key(), ttl: r.TTL, alias: r.Alias().For(r.Type)}
		if oneTarget(r.Type) {
			if len(r.Targets) == 0 {
				continue
			}
			key.ttl, key.target = 0, strings.ToLower(r.Targets[0])
		}
		i, ok := groups[key]
		if !ok {
			groups[key] = len(merged)
			merged = append(merged, []*RecordSet{r})
			continue
		}
		merged[i] = append(merged[i], r)
	}
	result := make([]*RecordSet, len(merged))
	for i, group := range merged {
		result[i] = mergeGroup(group)
	}
	return result
}

// mergeKey is equal for record sets that are merged.
type mergeKey struct {
	Key
	ttl    int64
	target string
	// alias is true for record sets whose targets may be names, which can't be mixed with addresses.
	alias bool
}

// oneTarget reports whether record sets of a type may have one target only.
func oneTarget(recordType string) bool { return recordType == TypeCNAME || recordType == TypeDNAME }

// SortForMerge returns record sets in the order of [MergeBy].
func SortForMerge(sets []*RecordSet, rank func(*RecordSet) int) []*RecordSet {
	var ranks map[*RecordSet]int
	if rank != nil {
		ranks = make(map[*RecordSet]int, len(sets))
		for _, r := range sets {
			ranks[r] = rank(r)
		}
	}
	return slices.SortedStableFunc(slices.Values(sets), func(a, b *RecordSet) int {
		return cmp.Or(
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.SetIdentifier, b.SetIdentifier),
			cmp.Compare(ranks[a], ranks[b]),
			cmp.Compare(a.Labels[LabelResource], b.Labels[LabelResource]),
		)
	})
}

func mergeGroup(group []*RecordSet) *RecordSet {
	first := group[0]
	targets := first.Targets
	if !oneTarget(first.Type) {
		targets = mergeTargets(group)
	}
	if len(group) == 1 && slices.Equal(targets, first.Targets) {
		return first
	}
	objects := make([][]Object, len(group))
	for i, r := range group {
		objects[i] = r.Objects
	}
	r := *first
	r.Targets = targets
	r.Objects = JoinObjects(objects...)
	return &r
}

func mergeTargets(group []*RecordSet) []string {
	if len(group) == 1 {
		return UniqueSorted(group[0].Targets)
	}
	var targets []string
	for _, r := range group {
		targets = append(targets, r.Targets...)
	}
	return UniqueSorted(targets)
}

// JoinObjects returns the union of lists of objects, in order. It doesn't change the lists, but may
// return one of them.
func JoinObjects(lists ...[]Object) []Object {
	var joined []Object
	var seen map[Object]struct{}
	for _, list := range lists {
		if len(joined) == 0 {
			joined = slices.Clip(list)
			continue
		}
		for _, o := range list {
			if seen == nil {
				seen = make(map[Object]struct{}, len(joined)+1)
				for _, o := range joined {
					seen[o] = struct{}{}
				}
			}
			if _, ok := seen[o]; !ok {
				seen[o] = struct{}{}
				joined = append(joined, o)
			}
		}
	}
	return joined
}
