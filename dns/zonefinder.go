package dns

import "strings"

// ZoneFinder finds the zone that a name belongs in. Make one with [NewZoneFinder].
type ZoneFinder struct {
	// zones are by canonical name.
	zones map[string][]Zone
}

// NewZoneFinder returns a finder for some zones. A zone without a name has every name.
func NewZoneFinder(zones []Zone) *ZoneFinder {
	f := &ZoneFinder{zones: make(map[string][]Zone, len(zones))}
	for _, z := range zones {
		name := Canonical(z.Name)
		f.zones[name] = append(f.zones[name], z)
	}
	return f
}

// Find returns the zone with the longest name that a name is equal to or below, and whether
// there is one; of several with this name, the first (spec/dns.md §2.8).
func (f *ZoneFinder) Find(name string) (Zone, bool) {
	if zones := f.FindAll(name); len(zones) > 0 {
		return zones[0], true
	}
	return Zone{}, false
}

// FindAll is Find for all zones with that name, such as a public and a private one, in the
// order in which they were given. The slice must not be changed.
func (f *ZoneFinder) FindAll(name string) []Zone {
	found, _ := ClosestZone(f.zones, name)
	return found
}

// ClosestZone is [ZoneFinder.Find] for those that keep something of their own about each
// zone: it returns what a map by canonical names has for the closest zone of a name, and
// whether there is one.
func ClosestZone[Z any](zones map[string]Z, name string) (Z, bool) {
	for at := Canonical(name); ; _, at, _ = strings.Cut(at, ".") {
		if zone, ok := zones[at]; ok || at == "" {
			return zone, ok
		}
	}
}
