package configure

import (
	"slices"
	"strings"
)

// Rivals reports whether two publishers of one process would treat each other's records as their own and delete
// them. They have the same owner ID, and
//
//   - the registry is the same, outside of the zones and has one entry for a name that both may manage, or
//   - no filter and no setting of the provider excludes that they write to the same zone.
//
// shared names what the two share.
func Rivals(a, b *Options) (shared string, rivals bool) {
	switch {
	case a.DryRun || b.DryRun, a.RegistryKind() == registryNone, a.RegistryKind() != b.RegistryKind(), a.Registry.OwnerID != b.Registry.OwnerID:
		return "", false
	case !a.filtersByRegex() && !b.filtersByRegex() && disjoint(a.DomainFilter, b.DomainFilter, within):
		return "", false
	case disjoint(a.ZoneNames, b.ZoneNames, within):
		return "", false
	case a.RegistryKind() == registryCRD && a.Registry.crdNamespace() == b.Registry.crdNamespace():
		return "the same DNSRecords", true
	case a.RegistryKind() == registryDynamoDB && sameTable(a.Registry, b.Registry):
		return "the same items of the table " + a.Registry.DynamoTable, true
	case disjoint(a.ZoneIDs, b.ZoneIDs, strings.HasSuffix):
		return "", false
	}
	for _, name := range a.Providers {
		if slices.ContainsFunc(b.Providers, func(other string) bool { return a.usualName(other) == a.usualName(name) }) && !apart(name, a, b) {
			return "the same zone of " + locationText(name, b), true
		}
	}
	return "", false
}

// sameTable reports whether two registries may use one DynamoDB table. Without a region, the environment decides.
func sameTable(a, b Registry) bool {
	x, y := a.DynamoDBRegion, b.DynamoDBRegion
	return a.DynamoTable == b.DynamoTable && (x == y || x == "" || y == "")
}

// usualName returns the first of the names that a provider has for --provider.
func (o *Options) usualName(name string) string { return o.providerPlugin(name).Names[0] }

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
