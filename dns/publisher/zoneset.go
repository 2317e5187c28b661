package publisher

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// zoneSet is the zones of the provider. It is never changed, only replaced, so that a job can keep
// the one that it started with.
//
// A name is held by
//
//   - the public zones with the longest name that contains it, mostly one, and
//   - every private zone that contains it, because each private zone has its own clients, and those
//     of a parent zone may not see a child zone.
//
// A name is written in these zones and in no other. A registry outside of the zones has one claim
// per name, so with it only the first of these zones holds the name.
type zoneSet struct {
	byKey map[dns.ZoneKey]*zone
	// public and private have the zones by canonical name.
	public, private map[string][]*zone
	// filter is the provider's domain filter; nil if it has none.
	filter dns.Filter
	// oneHolder is true if only one zone can hold a name.
	oneHolder bool
	// change counts the changes of byKey.
	change int
}

func newZoneSet(zones map[dns.ZoneKey]*zone, filter dns.Filter, o owner.Owner) *zoneSet {
	_, outside := o.(owner.Outside)
	t := &zoneSet{byKey: zones, public: map[string][]*zone{}, private: map[string][]*zone{}, filter: filter, oneHolder: outside}
	for _, z := range t.sorted() {
		apex := dns.Canonical(z.Name)
		if z.Private {
			t.private[apex] = append(t.private[apex], z)
		} else {
			t.public[apex] = append(t.public[apex], z)
		}
	}
	return t
}

// zonesFor returns the zones that hold a canonical name, public ones first, then longer names
// first. The slice must not be changed.
func (t *zoneSet) zonesFor(name string) []*zone {
	if t == nil {
		return nil
	}
	found := t.containing(name)
	if t.oneHolder && len(found) > 1 {
		return found[:1]
	}
	return found
}

// containing returns the zones that could hold a canonical name, in the order of zonesFor.
func (t *zoneSet) containing(name string) []*zone {
	found, _ := dns.ClosestZone(t.public, name)
	if len(t.private) == 0 {
		return found
	}
	found = slices.Clone(found)
	for at := name; ; _, at, _ = strings.Cut(at, ".") {
		found = append(found, t.private[at]...)
		if at == "" {
			return found
		}
	}
}

// idle returns the zones that hold no name, because others do.
func (t *zoneSet) idle() []*zone {
	var idle []*zone
	for _, z := range t.sorted() {
		if !t.holds(z, dns.Canonical(z.Name)) {
			idle = append(idle, z)
		}
	}
	return idle
}

// holds reports whether a zone holds a canonical name.
func (t *zoneSet) holds(z *zone, name string) bool { return slices.Contains(t.zonesFor(name), z) }

func (t *zoneSet) has(z *zone) bool { return t != nil && t.byKey[z.Zone.Key()] == z }

// owningZone returns the zone that should hold name: z itself if it does, else another zone of the
// same visibility (public or private), else any that does, or nil.
func (t *zoneSet) owningZone(z *zone, name string) *zone {
	holders := t.zonesFor(name)
	if slices.Contains(holders, z) {
		return z
	}
	for _, h := range holders {
		if h.Private == z.Private {
			return h
		}
	}
	if len(holders) > 0 {
		return holders[0]
	}
	return nil
}

// lookup returns the records of a zone and its parents as the registry sees them. It may be called
// from any goroutine.
func (t *zoneSet) lookup(z *zone) owner.Lookup {
	return func(name string) []*dns.RecordSet {
		if at := t.owningZone(z, name); at != nil {
			return at.mirror.lookup(name)
		}
		return nil
	}
}

// admits reports whether the provider's filter selects a canonical name.
func (t *zoneSet) admits(name string) bool { return t.filter == nil || t.filter.Match(name) }

// listing returns the listing of a zone as it is passed to the registry.
func (t *zoneSet) listing(z *zone, records []*dns.RecordSet) owner.Listing {
	id := func(z *zone) string { return z.ID + " " + z.Name }
	zoneOf := func(name string) string {
		// Claims are per name. If several zones hold a name, only the first one counts.
		if holders := t.zonesFor(name); len(holders) > 0 {
			return id(holders[0])
		}
		return ""
	}
	return owner.Listing{Zone: id(z), ZoneOf: zoneOf, Change: t.change, Records: records}
}

// all returns the zones; none before they have been listed.
func (t *zoneSet) all() map[dns.ZoneKey]*zone {
	if t == nil {
		return nil
	}
	return t.byKey
}

// sorted returns the zones by name, then by ID.
func (t *zoneSet) sorted() []*zone {
	return slices.SortedFunc(maps.Values(t.all()), func(a, b *zone) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
}
