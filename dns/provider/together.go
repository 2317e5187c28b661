package provider

import (
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Together divides changes into those that belong together: all of a name, and those of its ownership
// records ([dns.Change.Subject]). A provider that refuses a record set because another writer has changed
// it refuses the ownership record too, but only if it gets both in one call. It returns the indexes of the
// changes of each group, in order.
func Together(changes []dns.Change) [][]int {
	// groupOf has, by name, the first change of its group. next leads from a group to one that it was
	// joined to.
	groupOf, next := map[string]int{}, make([]int, len(changes))
	find := func(i int) int {
		for next[i] != i {
			i = next[i]
		}
		return i
	}
	for i, c := range changes {
		next[i] = i
		for _, name := range []string{c.RecordSet().Key().Name, c.Subject()} {
			first, known := groupOf[name]
			if !known {
				groupOf[name] = find(i)
				continue
			}
			a, b := find(first), find(i)
			next[max(a, b)] = min(a, b)
		}
	}
	byGroup := make([][]int, len(changes))
	for i := range changes {
		byGroup[find(i)] = append(byGroup[find(i)], i)
	}
	return slices.DeleteFunc(byGroup, func(group []int) bool { return len(group) == 0 })
}
