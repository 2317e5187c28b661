package fanout

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// twins are the zones that can't be used, because a provider has several zones of that name, such as a public and a
// private one. Each has the error that says so. The other zones are used.
type twins map[string]error

// one returns the zone among parts that a provider uses for a zone, or nil if there is none. If there are several, it
// returns the one that was used before, as long as it is listed. If none was, it also returns an error.
func one(parts []dns.Zone, before *zone, member int) (*dns.Zone, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	if len(parts) == 1 {
		return &parts[0], nil
	}
	if before != nil {
		used := before.parts[member]
		if i := slices.IndexFunc(parts, func(z dns.Zone) bool { return z.Key() == used.Key() && z.Private == used.Private }); i >= 0 {
			return &parts[i], nil
		}
	}
	return &parts[0], fmt.Errorf("provider %d has %d zones named %s, so none of them is used: choose one with --zone-id-filter", member+1, len(parts), parts[0].Name)
}

// err returns the errors of all zones, or nil.
func (t twins) err() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t)) {
		errs = append(errs, t[name])
	}
	return errors.Join(errs...)
}

// filter returns a filter that excludes the names in these zones, which would otherwise be published in a zone
// above; nil if there are none. used are the other zones.
func (t twins) filter(used map[string]*zone) dns.Filter {
	if len(t) == 0 {
		return nil
	}
	usable := usableZones{}
	for name := range used {
		usable[name] = true
	}
	for name := range t {
		usable[name] = false
	}
	return usable
}

// usableZones says for each zone whether it can be used.
type usableZones map[string]bool

// Match implements [dns.Filter].
func (u usableZones) Match(name string) bool {
	usable, known := dns.ClosestZone(u, name)
	return usable || !known
}
