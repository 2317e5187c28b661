package publisher

import "github.com/signpostd/signpost/dns"

// territory is the zones there are. It is replaced, not changed, so that jobs can go on
// with the one that they began with.
type territory struct {
	finder *dns.ZoneFinder
	zones  map[zoneKey]*zone
	// filter is what the provider says beyond its zones; nil is nothing.
	filter dns.Filter
}

// zoneOf returns the zone that a canonical name is in, nil for none.
func (t *territory) zoneOf(name string) *zone {
	if t == nil {
		return nil
	}
	found, ok := t.finder.Find(name)
	if !ok {
		return nil
	}
	return t.zones[keyOf(found)]
}

// holds reports whether the provider can have a canonical name.
func (t *territory) holds(name string) bool {
	return t.zoneOf(name) != nil && (t.filter == nil || t.filter.Match(name))
}

// lookup returns what the zones have under a canonical name. It may be called from any
// goroutine.
func (t *territory) lookup(name string) []*dns.RecordSet {
	if z := t.zoneOf(name); z != nil {
		return z.mirror.lookup(name)
	}
	return nil
}

// all returns the zones, none before they are known.
func (t *territory) all() map[zoneKey]*zone {
	if t == nil {
		return nil
	}
	return t.zones
}
