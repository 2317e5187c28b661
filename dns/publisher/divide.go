package publisher

import (
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

// group is the changes under one name. One call of the provider gets all of them.
type group struct {
	name    string
	changes []dns.Change
	// orphans are deletions of ownership records that describe no record set.
	orphans []dns.Change
}

func (g group) size() int { return len(g.changes) + len(g.orphans) }

// deletes reports whether the changes delete a record set without a replacement.
func (g group) deletes() bool { return len(budget.Losses(g.changes)) > 0 }

// stage is the position of the changes of a batch in one zone: new ownership records in other zones
// come first, and the other changes of ownership records there last. So no record set exists without
// its ownership record, even if the process ends in between.
type stage int

const (
	newOwnershipElsewhere stage = iota
	inTheZone
	oldOwnershipElsewhere
)

// divide splits the changes that the registry returned into one part per zone and stage. The changes
// of a name stay in the order in which they can be made. An ownership record is created before the
// record set that it describes.
func (p *Publisher) divide(zones *zoneSet, z *zone, b *batch, send []dns.Change) {
	var parts [oldOwnershipElsewhere + 1]map[*zone]*part
	var order [len(parts)][]*zone
	add := func(in *zone, name string, c dns.Change) {
		at := inTheZone
		switch {
		case in == z:
		case c.Old == nil:
			at = newOwnershipElsewhere
		default:
			at = oldOwnershipElsewhere
		}
		if parts[at] == nil {
			parts[at] = map[*zone]*part{}
		}
		if parts[at][in] == nil {
			parts[at][in] = &part{zone: in}
			order[at] = append(order[at], in)
		}
		parts[at][in].changes = append(parts[at][in].changes, c)
		parts[at][in].names = append(parts[at][in].names, name)
	}
	send = ownershipFirst(send)
	unownable := map[string]bool{}
	creates := map[string]bool{}
	name := ""
	for _, c := range send {
		name = groupOf(c, name)
		creates[name] = creates[name] || (c.Old == nil && !changesOwnership(c))
		unownable[name] = unownable[name] || (changesOwnership(c) && !canOwn(zones, z, c.RecordSet().Key().Name))
	}
	for _, c := range send {
		name = groupOf(c, name)
		switch {
		case unownable[name] && creates[name]:
			if changesOwnership(c) && b.errs[name] == nil {
				b.errs[name] = outsideError(c.RecordSet().Name)
			}
		case !changesOwnership(c):
			add(z, name, c)
		case !unownable[name]:
			// The name has an ownership record of an old format, which stays.
			add(zones.owningZone(z, c.RecordSet().Key().Name), name, c)
		}
	}
	for _, g := range b.groups {
		for _, c := range g.orphans {
			add(zones.owningZone(z, c.Old.Key().Name), g.name, c)
		}
	}
	for at := range parts {
		for _, in := range order[at] {
			b.parts = append(b.parts, *parts[at][in])
		}
	}
}

// errOutsideZones isn't counted as a failure, because it follows from the settings.
var errOutsideZones = errors.New("would be outside of the zones")

// outsideError returns the error for a record set that isn't created because its ownership record
// would be in no zone.
func outsideError(ownership string) error {
	return fmt.Errorf("the ownership record %s %w: give --txt-prefix a value such as %%{record_type}-. that keeps it in a zone", ownership, errOutsideZones)
}

// groupOf returns the name of the group of a change. before is the group of the preceding change.
func groupOf(c dns.Change, before string) string {
	if changesOwnership(c) && c.RecordSet().Labels[dns.LabelOwnedRecord] == "" {
		return before
	}
	return c.Subject()
}

func changesOwnership(c dns.Change) bool { return c.RecordSet().IsOwnershipRecord() }

// ownershipFirst moves new ownership records before the record sets that they describe.
func ownershipFirst(changes []dns.Change) []dns.Change {
	ordered := make([]dns.Change, 0, len(changes))
	for i := 0; i < len(changes); i++ {
		at := len(ordered)
		ordered = append(ordered, changes[i])
		for i+1 < len(changes) && changesOwnership(changes[i+1]) {
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
