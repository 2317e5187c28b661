package dns

import "strings"

// ZoneIDFilter is the endings of the ids of zones to be managed (--zone-id-filter). It
// passes all if it is empty.
type ZoneIDFilter []string

// Match reports whether the zone with an id passes: ABC does for /hostedzone/ABC.
func (f ZoneIDFilter) Match(id string) bool {
	for _, ending := range f {
		if strings.HasSuffix(id, ending) {
			return true
		}
	}
	return len(f) == 0
}

// NewZoneNameFilter returns a filter for the names of zones themselves
// (--zone-name-filter): those that are one of some domains or in one. Without any, all pass.
func NewZoneNameFilter(names []string) *DomainFilter { return NewDomainFilter(names, nil) }
