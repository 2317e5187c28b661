package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Satisfies reports whether a current record set equals a wanted one in everything that matters
// (spec/dns.md §3.5).
func Satisfies(current, wanted *dns.RecordSet) bool {
	if wanted.TTL > 0 && wanted.TTL != current.TTL {
		return false
	}
	return sameTargets(current, wanted) && dns.SameProperties(current.Properties, wanted.Properties)
}

// sameTargets compares targets. Case matters in texts only.
func sameTargets(current, wanted *dns.RecordSet) bool {
	if wanted.Type == dns.TypeTXT {
		return slices.Equal(dns.UniqueSorted(current.Targets), dns.UniqueSorted(wanted.Targets))
	}
	return dns.SameTargets(current.Targets, wanted.Targets)
}

// prefer orders candidates of one key, the preferred one first: by targets (spec/dns.md §3.4),
// position of the source, namespace and name of the object, and then by everything else, so that
// the order of the input doesn't matter.
func prefer(a, b Candidate) int {
	if a.Set == b.Set {
		return 0
	}
	if order := compareTargets(a.Set, b.Set); order != 0 {
		return order
	}
	x, y := firstObject(a.Set), firstObject(b.Set)
	if order := cmp.Or(
		cmp.Compare(a.Source, b.Source),
		strings.Compare(x.Namespace, y.Namespace),
		strings.Compare(x.Name, y.Name),
	); order != 0 {
		return order
	}
	return compareSets(a.Set, b.Set)
}

func firstObject(r *dns.RecordSet) dns.Object {
	if len(r.Objects) == 0 {
		return dns.Object{}
	}
	return r.Objects[0]
}

func compareTargets(a, b *dns.RecordSet) int {
	switch {
	case dns.Less(a.Targets, b.Targets):
		return -1
	case dns.Less(b.Targets, a.Targets):
		return 1
	default:
		return 0
	}
}

// compareSets orders record sets of one key by their targets and then by everything else.
func compareSets(a, b *dns.RecordSet) int {
	if a == b {
		return 0
	}
	if order := cmp.Or(
		compareTargets(a, b),
		strings.Compare(resource(a), resource(b)),
		cmp.Compare(a.TTL, b.TTL),
		strings.Compare(a.Name, b.Name),
		slices.Compare(a.Targets, b.Targets),
	); order != 0 {
		return order
	}
	// Maps are printed in the order of their keys.
	rest := func(r *dns.RecordSet) string { return fmt.Sprintf("%q %q %q", r.Properties, r.Objects, r.Labels) }
	return strings.Compare(rest(a), rest(b))
}
