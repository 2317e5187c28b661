package dns

import "strings"

// ZoneIDFilter selects zones by suffixes of their IDs (--zone-id-filter). An empty filter selects
// all zones.
type ZoneIDFilter []string

// Match reports whether the zone with an ID is selected: the filter ABC selects /hostedzone/ABC.
func (f ZoneIDFilter) Match(id string) bool {
	for _, ending := range f {
		if strings.HasSuffix(id, ending) {
			return true
		}
	}
	return len(f) == 0
}

// ZoneNameEndsWith reports whether [NewZoneNameFilter] selects a zone. Providers whose zone IDs are
// names use it for --zone-id-filter and --zone-name-filter.
func ZoneNameEndsWith(name string, endings []string) bool {
	return NewZoneNameFilter(endings).Match(name)
}

// NewZoneNameFilter returns a filter of zone names (--zone-name-filter): it selects the zones that
// are one of the domains or below one. Without domains, it selects all.
func NewZoneNameFilter(names []string) *DomainFilter { return NewDomainFilter(names, nil) }
