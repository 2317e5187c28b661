package publisher

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// zoneSet is the zones of the provider. It is never changed, only replaced, so that a job can
// go on with the one that it began with.
type zoneSet struct {
	finder *dns.ZoneFinder
	byKey  map[zoneKey]*zone
	// filter restricts the names that the provider can have in its zones; nil if it doesn't.
	filter dns.Filter
}

// zoneOf returns the zone that contains a canonical name, or nil.
func (t *zoneSet) zoneOf(name string) *zone {
	if t == nil {
		return nil
	}
	found, ok := t.finder.Find(name)
	if !ok {
		return nil
	}
	return t.byKey[keyOf(found)]
}

// holds reports whether the provider can have a canonical name.
func (t *zoneSet) holds(name string) bool {
	return t.zoneOf(name) != nil && (t.filter == nil || t.filter.Match(name))
}

// lookup returns the record sets under a canonical name. It may be called from any goroutine.
func (t *zoneSet) lookup(name string) []*dns.RecordSet {
	if z := t.zoneOf(name); z != nil {
		return z.mirror.lookup(name)
	}
	return nil
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
