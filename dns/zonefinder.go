package dns

import "strings"

// ZoneFinder finds the zone that a name belongs in. Make one with [NewZoneFinder].
type ZoneFinder struct {
	// zones has the zones by canonical name.
	zones map[string][]Zone
}

// NewZoneFinder returns a finder for some zones. A zone with an empty name contains every
// name.
func NewZoneFinder(zones []Zone) *ZoneFinder {
	f := &ZoneFinder{zones: make(map[string][]Zone, len(zones))}
	for _, z := range zones {
		name := Canonical(z.Name)
		f.zones[name] = append(f.zones[name], z)
	}
	return f
}

// Find returns the zone of a name: of the zones that contain it, the one with the longest
// name. If several zones have this name, Find returns the first one (spec/dns.md §2.8). It
// reports false if no zone contains the name.
func (f *ZoneFinder) Find(name string) (Zone, bool) {
	if zones := f.FindAll(name); len(zones) > 0 {
		return zones[0], true
	}
	return Zone{}, false
}

// FindAll returns all zones that have the name that Find looks for, such as a public and a
// private one, in the order in which they were given. The slice must not be changed.
func (f *ZoneFinder) FindAll(name string) []Zone {
	found, _ := ClosestZone(f.zones, name)
	return found
}

// ClosestZone does what [ZoneFinder.Find] does for callers that keep something of their own
// about each zone. The map has that by the canonical names of the zones.
func ClosestZone[Z any](zones map[string]Z, name string) (Z, bool) {
	for at := Canonical(name); ; _, at, _ = strings.Cut(at, ".") {
		if zone, ok := zones[at]; ok || at == "" {
			return zone, ok
		}
	}
}
