package publisher

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// zoneSet is the zones of the provider. It is never changed, only replaced, so that a job can
// go on with the one that it began with.
//
// A name is held by the public zones with the longest name that contains it, mostly one, and by
// every private zone that contains it: each private zone has readers of its own, and those of
// a shorter one may see no longer one. It is written in these zones, and in no other. An owner
// outside of the zones has one claim for a name, so that with it the first of these zones holds
// the name alone.
type zoneSet struct {
	byKey map[zoneKey]*zone
	// public and private have the zones by their canonical names.
	public, private map[string][]*zone
	// filter restricts the names that the provider can have in its zones; nil if it doesn't.
	filter dns.Filter
	// alone is true if a name is held by one zone only.
	alone bool
}

func newZoneSet(zones map[zoneKey]*zone, filter dns.Filter, o owner.Owner) *zoneSet {
	_, outside := o.(owner.Outside)
	t := &zoneSet{byKey: zones, public: map[string][]*zone{}, private: map[string][]*zone{}, filter: filter, alone: outside}
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

// holders returns the zones that hold a canonical name, public ones first, then those with a
// longer name. The slice must not be changed.
func (t *zoneSet) holders(name string) []*zone {
	if t == nil {
		return nil
	}
	found := t.containing(name)
	if t.alone && len(found) > 1 {
		return found[:1]
	}
	return found
}

// containing returns the zones that could hold a canonical name, in the order of holders.
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
func (t *zoneSet) holds(z *zone, name string) bool { return slices.Contains(t.holders(name), z) }

// has reports whether a zone is one of the set.
func (t *zoneSet) has(z *zone) bool { return t != nil && t.byKey[keyOf(z.Zone)] == z }

// owningZone returns the zone that has what belongs to a zone under a canonical name: that zone, if
// it holds the name, or else one that does, rather one that is as private. It returns nil if no
// zone holds the name.
func (t *zoneSet) owningZone(z *zone, name string) *zone {
	holders := t.holders(name)
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

// lookup returns what a zone and those above it have, as its owner sees it. It may be called
// from any goroutine.
func (t *zoneSet) lookup(z *zone) owner.Lookup {
	return func(name string) []*dns.RecordSet {
		if at := t.owningZone(z, name); at != nil {
			return at.mirror.lookup(name)
		}
		return nil
	}
}

// admits reports whether the provider can have a canonical name in its zones.
func (t *zoneSet) admits(name string) bool { return t.filter == nil || t.filter.Match(name) }

// listing returns what an owner is told of a listing of a zone.
func (t *zoneSet) listing(z *zone, records []*dns.RecordSet) owner.Listing {
	id := func(z *zone) string { return z.ID + " " + z.Name }
	zoneOf := func(name string) string {
		// Claims are about names. Of several zones that hold one, the first is asked.
		if holders := t.holders(name); len(holders) > 0 {
			return id(holders[0])
		}
		return ""
	}
	return owner.Listing{Zone: id(z), ZoneOf: zoneOf, Records: records}
}

// all returns the zones. There are none before they have been listed.
func (t *zoneSet) all() map[zoneKey]*zone {
	if t == nil {
		return nil
	}
	return t.byKey
}

// sorted returns the zones by name, and those of one name by ID.
func (t *zoneSet) sorted() []*zone {
	return slices.SortedFunc(maps.Values(t.all()), func(a, b *zone) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
}
