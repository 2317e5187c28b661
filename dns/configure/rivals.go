package configure

import (
	"slices"
	"strings"
)

// Rivals reports whether two publishers of one process would treat each other's records as their
// own and delete them: they use the same kind of provider and owner ID, and neither filters nor
// settings of the provider exclude a common zone. where names the provider, with the settings that
// locate its zones.
func Rivals(a, b *Options) (where string, rivals bool) {
	switch {
	case a.DryRun || b.DryRun, a.RegistryKind() == registryNone, a.RegistryKind() != b.RegistryKind(), a.Registry.OwnerID != b.Registry.OwnerID:
		return "", false
	case !a.filtersByRegex() && !b.filtersByRegex() && disjoint(a.DomainFilter, b.DomainFilter, within):
		return "", false
	case disjoint(a.ZoneNames, b.ZoneNames, within) || disjoint(a.ZoneIDs, b.ZoneIDs, strings.HasSuffix):
		return "", false
	}
	for _, name := range a.Providers {
		if !slices.Contains(b.Providers, name) {
			continue
		}
		// Other registries have one store for the records of all servers.
		if a.RegistryKind() == registryTXT && apart(name, a, b) {
			continue
		}
		return locationText(name, b), true
	}
	return "", false
}

// disjoint reports whether two lists of suffixes have nothing in common. An empty list admits
// everything.
func disjoint(a, b []string, below func(x, suffix string) bool) bool {
	related := func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return below(x, y) || below(y, x) })
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, related)
}

// within reports whether a domain is another one or below it.
func within(domain, other string) bool {
	labels := func(s string) string { return "." + strings.ToLower(strings.Trim(strings.TrimSpace(s), ".")) }
	return strings.HasSuffix(labels(domain), labels(other))
}

// filtersByRegex reports whether --domain-filter is ignored.
func (o *Options) filtersByRegex() bool {
	return o.RegexDomainFilter != "" || o.RegexDomainExcept != ""
}
