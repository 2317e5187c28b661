package configure

import (
	"slices"
	"strings"
)

// Rivals reports whether two publishers of one process would take each other's records for
// their own, and delete them: they write with one kind of provider, under one owner, and no
// filters keep them apart.
func Rivals(a, b *Options) bool {
	switch {
	case a.DryRun || b.DryRun, a.RegistryKind() == registryNone, a.RegistryKind() != b.RegistryKind(), a.Registry.OwnerID != b.Registry.OwnerID:
		return false
	case !slices.ContainsFunc(a.Providers, func(name string) bool { return slices.Contains(b.Providers, name) }):
		return false
	case !a.filtersByRegex() && !b.filtersByRegex() && disjoint(a.DomainFilter, b.DomainFilter, within):
		return false
	default:
		return !disjoint(a.ZoneNames, b.ZoneNames, within) && !disjoint(a.ZoneIDs, b.ZoneIDs, strings.HasSuffix)
	}
}

// disjoint reports whether two lists of suffixes admit nothing in common. An empty list admits
// everything.
func disjoint(a, b []string, below func(x, suffix string) bool) bool {
	related := func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return below(x, y) || below(y, x) })
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, related)
}

// within reports whether the names of a domain are all in another one.
func within(domain, other string) bool {
	labels := func(s string) string { return "." + strings.ToLower(strings.Trim(strings.TrimSpace(s), ".")) }
	return strings.HasSuffix(labels(domain), labels(other))
}

// filtersByRegex reports whether --domain-filter is ignored.
func (o *Options) filtersByRegex() bool {
	return o.RegexDomainFilter != "" || o.RegexDomainExcept != ""
}
