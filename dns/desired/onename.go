package desired

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// oneName keeps each value of a property with only one of the names that an object asks for. That
// is the shortest name, because it comes from the hostname annotation and not from a pod. Record
// sets of other names lose the value.
func (t *transform) oneName(sets []*dns.RecordSet, property string) {
	first := map[string]string{}
	for _, r := range sets {
		for _, value := range valuesOf(r, property) {
			if name, taken := first[value]; !taken || cmp.Or(cmp.Compare(len(r.Name), len(name)), cmp.Compare(r.Name, name)) < 0 {
				first[value] = r.Name
			}
		}
	}
	lost := map[string][]string{}
	for i, r := range sets {
		values := valuesOf(r, property)
		left := slices.DeleteFunc(slices.Clone(values), func(value string) bool { return first[value] != r.Name })
		if len(left) == len(values) {
			continue
		}
		for _, value := range values {
			if first[value] != r.Name && !slices.Contains(lost[value], r.Name) {
				lost[value] = append(lost[value], r.Name)
			}
		}
		sets[i] = withValues(r, property, left)
	}
	for _, value := range slices.Sorted(maps.Keys(lost)) {
		names := lost[value]
		t.problems = append(t.problems, dns.Problem{
			Object: t.object(sets[0]), Subject: "property " + property, Value: value,
			Reason: fmt.Sprintf("only one name can have it, and %s gets it: %s and %d other names are published without it", first[value], names[0], len(names)-1),
		})
	}
}

// valuesOf returns the values of a list property.
func valuesOf(r *dns.RecordSet, property string) (values []string) {
	text, _ := r.Property(property)
	for value := range strings.SplitSeq(text, ",") {
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
