package dns

import "strings"

// ZoneFinder finds the zone of a name. [NewZoneFinder] creates it.
type ZoneFinder struct {
	// zones has the zones by canonical name.
	zones map[string][]Zone
}

// NewZoneFinder returns a finder for zones. A zone with an empty name contains every name.
func NewZoneFinder(zones []Zone) *ZoneFinder {
	f := &ZoneFinder{zones: make(map[string][]Zone, len(zones))}
	for _, z := range zones {
		name := Canonical(z.Name)
		f.zones[name] = append(f.zones[name], z)
	}
	return f
}

// Find returns the zone of a name: the one with the longest name that contains it. If several zones
// have that name, Find returns the first one (spec/dns.md §2.8). It returns false if no zone
// contains the name.
func (f *ZoneFinder) Find(name string) (Zone, bool) {
	if zones := f.FindAll(name); len(zones) > 0 {
		return zones[0], true
	}
	return Zone{}, false
}

// FindAll returns all zones with the name that Find would return, such as a public and a private
// one, in the given order. The slice must not be changed.
func (f *ZoneFinder) FindAll(name string) []Zone {
	found, _ := ClosestZone(f.zones, name)
	return found
}

// ClosestZone is [ZoneFinder.Find] for a map of the caller's own values, by canonical zone name.
func ClosestZone[Z any](zones map[string]Z, name string) (Z, bool) {
	for at := Canonical(name); ; _, at, _ = strings.Cut(at, ".") {
		if zone, ok := zones[at]; ok || at == "" {
			return zone, ok
		}
	}
}
