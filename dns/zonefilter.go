package dns

import "strings"

// ZoneIDFilter selects zones by the ends of their IDs (--zone-id-filter). An empty filter
// passes all zones.
type ZoneIDFilter []string

// Match reports whether the zone with an ID passes: the filter ABC passes /hostedzone/ABC.
func (f ZoneIDFilter) Match(id string) bool {
	for _, ending := range f {
		if strings.HasSuffix(id, ending) {
			return true
		}
	}
	return len(f) == 0
}

// ZoneNameEndsWith reports whether a zone passes [NewZoneNameFilter]. Providers whose zones have
// no other IDs than their names use it for --zone-id-filter and --zone-name-filter.
func ZoneNameEndsWith(name string, endings []string) bool {
	return NewZoneNameFilter(endings).Match(name)
}

// NewZoneNameFilter returns a filter for the names of zones (--zone-name-filter): it passes
// the zones that are one of the domains or below one. Without domains, all zones pass.
func NewZoneNameFilter(names []string) *DomainFilter { return NewDomainFilter(names, nil) }
