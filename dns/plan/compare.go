package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// satisfies reports whether a record set that is there is as one that is asked for
// (spec/dns.md §3.5).
func satisfies(current, wanted *dns.RecordSet) bool {
	if wanted.TTL > 0 && wanted.TTL != current.TTL {
		return false
	}
	return sameTargets(current, wanted) && dns.SameProperties(current.Properties, wanted.Properties)
}

// sameTargets compares the targets; in texts, case matters.
func sameTargets(current, wanted *dns.RecordSet) bool {
	if wanted.Type == dns.TypeTXT {
		return slices.Equal(dns.UniqueSorted(current.Targets), dns.UniqueSorted(wanted.Targets))
	}
	return dns.SameTargets(current.Targets, wanted.Targets)
}

// prefer orders record sets of one key, the better one first: by their targets
// (spec/dns.md §3.4), and where those are equal by anything else, so that the order in which
// they are given decides nothing.
func prefer(a, b *dns.RecordSet) int {
	if a == b {
		return 0
	}
	if dns.Less(a.Targets, b.Targets) {
		return -1
	}
	if dns.Less(b.Targets, a.Targets) {
		return 1
	}
	if order := cmp.Or(
		strings.Compare(a.Labels[dns.LabelResource], b.Labels[dns.LabelResource]),
		cmp.Compare(a.TTL, b.TTL),
		strings.Compare(a.Name, b.Name),
		slices.Compare(a.Targets, b.Targets),
		compareProperties(a.Properties, b.Properties),
		compareObjects(a.Objects, b.Objects),
	); order != 0 {
		return order
	}
	return compareLabels(a.Labels, b.Labels)
}

func compareProperties(a, b []dns.Property) int {
	return slices.CompareFunc(a, b, func(p, q dns.Property) int {
		return cmp.Or(strings.Compare(p.Name, q.Name), strings.Compare(p.Value, q.Value))
	})
}

func compareLabels(a, b map[string]string) int {
	return slices.Compare(sortedLabels(a), sortedLabels(b))
}

// sortedLabels is only needed to tell apart record sets that are otherwise equal.
func sortedLabels(labels map[string]string) []string {
	sorted := make([]string, 0, 2*len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		sorted = append(sorted, key, labels[key])
	}
	return sorted
}

func compareObjects(a, b []dns.Object) int {
	return slices.CompareFunc(a, b, func(p, q dns.Object) int {
		return cmp.Or(
			strings.Compare(p.Source, q.Source), strings.Compare(p.APIVersion, q.APIVersion), strings.Compare(p.Kind, q.Kind),
			strings.Compare(p.Namespace, q.Namespace), strings.Compare(p.Name, q.Name), strings.Compare(p.UID, q.UID),
		)
	})
}
