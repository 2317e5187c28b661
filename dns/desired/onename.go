package desired

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// oneNameProblems limits the problems about values that several names of an object ask for.
const oneNameProblems = 8

// oneName keeps each value of a property with only one of the names that an object asks for. That
// is the shortest name, because it comes from the hostname annotation and not from a pod. Record
// sets of other names lose the value. All names of an object have the same list, unless they come
// from a DNSEndpoint, so lists are compared before their values: with many names and values, each
// name would otherwise cost as much as all values.
func (t *transform) oneName(sets []*dns.RecordSet, property string) {
	names := namesOf(sets, property)
	first := map[string]string{}
	for list, asking := range names {
		for _, value := range valuesOf(list) {
			if name, taken := first[value]; !taken || compareLengths(asking[0], name) < 0 {
				first[value] = asking[0]
			}
		}
	}
	for i, r := range sets {
		list, _ := r.Property(property)
		if asking := names[list]; len(asking) > 0 {
			sets[i] = withFirstValues(r, property, list, asking[0], first)
		}
	}
	t.reportLost(sets, property, names, first)
}

// namesOf returns the names that have each list of a property, the shortest first.
func namesOf(sets []*dns.RecordSet, property string) map[string][]string {
	names := map[string][]string{}
	for _, r := range sets {
		if list, _ := r.Property(property); strings.Trim(list, ", ") != "" {
			names[list] = append(names[list], r.Name)
		}
	}
	for list, asking := range names {
		slices.SortFunc(asking, compareLengths)
		names[list] = slices.Compact(asking)
	}
	return names
}

// compareLengths orders names by length, then by letters.
func compareLengths(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// withFirstValues returns a record set with those values of a list that its name is the first to ask
// for. Only the shortest name with the list can be the first for any of them.
func withFirstValues(r *dns.RecordSet, property, list, shortest string, first map[string]string) *dns.RecordSet {
	if r.Name != shortest {
		return withValues(r, property, nil)
	}
	values := valuesOf(list)
	left := slices.DeleteFunc(slices.Clone(values), func(value string) bool { return first[value] != r.Name })
	if len(left) == len(values) {
		return r
	}
	return withValues(r, property, left)
}

// reportLost reports the values that names have lost to another name, up to the limit.
func (t *transform) reportLost(sets []*dns.RecordSet, property string, names map[string][]string, first map[string]string) {
	lost := map[string][]string{}
	for list, asking := range names {
		for _, value := range valuesOf(list) {
			if len(asking) > 1 || asking[0] != first[value] {
				lost[value] = append(lost[value], list)
			}
		}
	}
	values := slices.Sorted(maps.Keys(lost))
	for _, value := range values[:min(len(values), oneNameProblems)] {
		losers := losersOf(lost[value], names, first[value])
		t.problems = append(t.problems, dns.Problem{
			Object: t.object(sets[0]), Subject: "property " + property, Value: value,
			Reason: fmt.Sprintf("only one name can have it, and %s gets it: %s and %d other names are published without it", first[value], losers[0], len(losers)-1),
		})
	}
	if more := len(values) - oneNameProblems; more > 0 {
		t.problems = append(t.problems, dns.Problem{
			Object: t.object(sets[0]), Subject: "property " + property,
			Reason: fmt.Sprintf("%d more values are asked for by several names: correct these first", more),
		})
	}
}

// losersOf returns the names with one of the lists, except the one that gets the value, in order.
func losersOf(lists []string, names map[string][]string, winner string) []string {
	var losers []string
	for _, list := range lists {
		losers = append(losers, names[list]...)
	}
	slices.Sort(losers)
	losers = slices.Compact(losers)
	return slices.DeleteFunc(losers, func(name string) bool { return name == winner })
}

func valuesOf(list string) (values []string) {
	for value := range strings.SplitSeq(list, ",") {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	return values
}

// withValues returns a record set with other values of a list property.
func withValues(r *dns.RecordSet, property string, values []string) *dns.RecordSet {
	changed := r.Clone()
	if len(values) == 0 {
		changed.DeleteProperty(property)
	} else {
		changed.SetProperty(property, strings.Join(values, ","))
	}
	return changed
}
