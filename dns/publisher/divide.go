package publisher

import (
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// divide makes the parts of a batch: the changes of a name in the order in which they can
// be made, with a marker before the record that it is for when that is created, so that
// nobody finds a record without one.
func (p *Publisher) divide(land *territory, z *zone, b *batch, send []dns.Change) {
	parts := map[*zone]*part{}
	var order []*zone
	add := func(in *zone, name string, c dns.Change) {
		if parts[in] == nil {
			parts[in] = &part{zone: in}
			order = append(order, in)
		}
		parts[in].changes = append(parts[in].changes, c)
		parts[in].names = append(parts[in].names, name)
	}
	send = markersFirst(send)
	homeless := map[string]bool{}
	creates := map[string]bool{}
	name := ""
	for _, c := range send {
		name = groupOf(c, name)
		creates[name] = creates[name] || (c.Old == nil && !isMarker(c))
		homeless[name] = homeless[name] || (isMarker(c) && !land.holds(c.RecordSet().Key().Name))
	}
	for _, c := range send {
		name = groupOf(c, name)
		switch {
		case homeless[name] && creates[name]:
			if isMarker(c) && b.errs[name] == nil {
				b.errs[name] = outside(c.RecordSet().Name)
			}
		case !isMarker(c):
			add(z, name, c)
		case !homeless[name]:
			// What is owned by a marker of an old format keeps that one otherwise.
			add(land.zoneOf(c.RecordSet().Key().Name), name, c)
		}
	}
	for _, g := range b.groups {
		for _, c := range g.orphans {
			add(land.zoneOf(c.Old.Key().Name), g.name, c)
		}
	}
	for _, in := range order {
		b.parts = append(b.parts, *parts[in])
	}
}

// errOutside is no failure of anything: it is as the settings want it.
var errOutside = errors.New("would be outside of the zones")

// outside is why a record set whose marker would be in no zone isn't created.
func outside(marker string) error {
	return fmt.Errorf("the ownership record %s %w: use a prefix such as %%{record_type}-. so that it is inside", marker, errOutside)
}

// groupOf returns the name of the group that a change belongs to.
func groupOf(c dns.Change, before string) string {
	if isMarker(c) && c.RecordSet().Labels[dns.LabelOwnedRecord] == "" {
		return before
	}
	return c.Subject()
}

func isMarker(c dns.Change) bool {
	_, marker := c.RecordSet().Labels[dns.LabelOwnedRecord]
	return marker
}

// markersFirst puts the markers that are created before the records that they are for.
func markersFirst(changes []dns.Change) []dns.Change {
	ordered := make([]dns.Change, 0, len(changes))
	for i := 0; i < len(changes); i++ {
		at := len(ordered)
		ordered = append(ordered, changes[i])
		for i+1 < len(changes) && isMarker(changes[i+1]) {
			i++
			if changes[i].Old == nil && ordered[at].Old == nil {
				ordered = slices.Insert(ordered, at, changes[i])
				at++
				continue
			}
			ordered = append(ordered, changes[i])
		}
	}
	return ordered
}
