package dns

import (
	"fmt"
	"strings"
)

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

// ZoneTypeFilter is "public", "private", or empty for both.
type ZoneTypeFilter string

// NewZoneTypeFilter returns a filter, or an error for another value.
func NewZoneTypeFilter(value string) (ZoneTypeFilter, error) {
	switch f := ZoneTypeFilter(value); f {
	case "", "public", "private":
		return f, nil
	default:
		return "", fmt.Errorf("type of zones %q: say public, private, or nothing for both", value)
	}
}

// Match reports whether a zone passes.
func (f ZoneTypeFilter) Match(z Zone) bool {
	switch f {
	case "public":
		return !z.Private
	case "private":
		return z.Private
	default:
		return true
	}
}

// ZoneTagFilter is the tags that zones to be managed have to have.
type ZoneTagFilter struct {
	tags []zoneTag
}

// zoneTag is one of them; without exact, any value will do.
type zoneTag struct {
	key, value string
	exact      bool
}

// NewZoneTagFilter returns a filter for zones that have all of some tags, each given as
// key=value, or as key for any value. Those with an empty key don't count.
func NewZoneTagFilter(entries []string) ZoneTagFilter {
	var f ZoneTagFilter
	for _, entry := range entries {
		key, value, exact := strings.Cut(entry, "=")
		if key = strings.TrimSpace(key); key != "" {
			f.tags = append(f.tags, zoneTag{key: key, value: strings.TrimSpace(value), exact: exact})
		}
	}
	return f
}

// Configured reports whether there are zones that could be kept from passing, so that
// their tags have to be known.
func (f ZoneTagFilter) Configured() bool { return len(f.tags) > 0 }

// Match reports whether a zone with these tags passes.
func (f ZoneTagFilter) Match(tags map[string]string) bool {
	for _, want := range f.tags {
		value, ok := tags[want.key]
		if !ok || (want.exact && value != want.value) {
			return false
		}
	}
	return true
}

// NewZoneNameFilter returns a filter for the names of zones themselves
// (--zone-name-filter): those that are one of some domains or in one. Without any, all pass.
func NewZoneNameFilter(names []string) *DomainFilter { return NewDomainFilter(names, nil) }
