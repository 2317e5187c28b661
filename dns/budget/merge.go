package budget

import (
	"cmp"
	"slices"
	"time"
)

// mergeSpendings adds stored spendings to the known ones. A spending in both counts once.
func mergeSpendings(known spendings, stored [][2]int64) spendings {
	all := slices.Clone(known)
	for _, s := range stored {
		at := time.UnixMilli(s[0])
		i := slices.IndexFunc(all, func(o spending) bool { return o.at.UnixMilli() == s[0] })
		if i < 0 {
			all = append(all, spending{at, int(s[1])})
			continue
		}
		all[i].count = max(all[i].count, int(s[1]))
	}
	slices.SortStableFunc(all, func(a, b spending) int { return a.at.Compare(b.at) })
	for len(all) > maxSpendings {
		all[1].count += all[0].count
		all = all[1:]
	}
	return all
}

// merge returns the union of two states, for a store that another process has written since it was
// read.
func merge(theirs, ours state) state {
	merged := state{Version: stateVersion, Zones: ours.Zones}
	for _, t := range theirs.Zones {
		i := slices.IndexFunc(merged.Zones, func(o zoneState) bool { return o.ID == t.ID && o.Name == t.Name })
		if i < 0 {
			merged.Zones = append(merged.Zones, t)
			continue
		}
		o := &merged.Zones[i]
		o.UnknownUntil = max(o.UnknownUntil, t.UnknownUntil)
		lists := t.spendings()
		for k, list := range o.spendings() {
			var sum spendings
			sum = mergeSpendings(mergeSpendings(sum, *list), *lists[k])
			*list = nil
			for _, s := range sum {
				*list = append(*list, [2]int64{s.at.UnixMilli(), int64(s.count)})
			}
		}
		o.Excepted = append(o.Excepted, t.Excepted...)
		slices.SortFunc(o.Excepted, digest.compare)
		o.Excepted = slices.Compact(o.Excepted)
		o.Approved = append(o.Approved, t.Approved...)
		slices.SortFunc(o.Approved, func(a, b approvedState) int { return cmp.Compare(a.Until, b.Until) })
	}
	merged.cut()
	return merged
}
