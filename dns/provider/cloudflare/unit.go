package cloudflare

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// unit is a group with what is sent for it.
type unit struct {
	*batch.Group
	// operations are what is sent for the records, before has the records that they replace or delete, and side
	// is what changes that belongs to the name.
	operations operations[outgoing]
	before     []record
	side       side
	// late says why what belongs to the name wasn't made although the records were.
	late error
}

// units groups changes by subject.
func units(changes []dns.Change, outside func(name string) error) []*unit {
	var list []*unit
	for _, g := range batch.BySubject(changes) {
		for _, c := range g.Changes {
			if err := outside(c.RecordSet().Name); err != nil {
				g.Fail(err)
			}
		}
		list = append(list, &unit{Group: g})
	}
	return list
}

// prepare works out what has to be sent, from the records that there are now.
func (u *unit) prepare(m mapping, z *managedZone, now groups) {
	u.operations, u.before = operations[outgoing]{}, nil
	for _, c := range u.Changes {
		key := c.RecordSet().Key()
		if slices.ContainsFunc(now[key], record.readOnly) {
			u.Fail(fmt.Errorf("%w: %s %s: another product of Cloudflare keeps a record of this name and type: remove it there", provider.ErrRejected, key.Name, key.Type))
			return
		}
		there, err := z.own(now[key], c)
		if err != nil {
			u.Fail(err)
			return
		}
		var wanted []outgoing
		if c.New != nil {
			if wanted, err = m.wanted(c.New); err != nil {
				u.Fail(err)
				return
			}
		}
		u.swap(there, wanted, c.New.IsOwnershipRecord())
	}
	var err error
	if u.side, err = sideOf(m.wishes, u.Subject, u.Changes, now); err != nil {
		u.Fail(err)
	}
}

// swap adds the operations that make the wanted records of a set out of those that there are. One
// whose value is wanted keeps its ID, and gets the wanted attributes; in a set of ownership records, which
// may have texts of others, it stays as it is. Of the rest, as many as possible get another value,
// so that the name is never gone.
func (u *unit) swap(there []record, wanted []outgoing, marker bool) {
	var missing []outgoing
	for _, w := range wanted {
		i := slices.IndexFunc(there, func(r record) bool { return target(r) == target(w.arrived()) })
		if i < 0 {
			missing = append(missing, w)
			continue
		}
		if r := there[i]; !marker && !r.alike(w.arrived()) {
			u.patch(r, w)
		}
		there = slices.Concat(there[:i], there[i+1:])
	}
	for i, r := range there {
		if i < len(missing) {
			u.patch(r, missing[i])
			continue
		}
		u.operations.Deletes = append(u.operations.Deletes, outgoing{ID: r.ID})
		u.before = append(u.before, r)
	}
	if len(missing) > len(there) {
		u.operations.Posts = append(u.operations.Posts, missing[len(there):]...)
	}
}

func (u *unit) patch(r record, w outgoing) {
	w.ID = r.ID
	u.operations.Patches = append(u.operations.Patches, w)
	u.before = append(u.before, r)
}

// state tells from the records that there are now whether the operations were made.
func (u *unit) state(now []record) batch.State {
	byID := make(map[string]record, len(now))
	for _, r := range now {
		byID[r.ID] = r
	}
	allDone, allUndone := true, true
	note := func(after, before bool) {
		allDone, allUndone = allDone && after, allUndone && before
	}
	for _, o := range u.operations.Deletes {
		_, there := byID[o.ID]
		note(!there, there)
	}
	for _, o := range u.operations.Patches {
		r, there := byID[o.ID]
		i := slices.IndexFunc(u.before, func(b record) bool { return b.ID == o.ID })
		note(there && r.same(o.arrived()), there && r.same(u.before[i]))
	}
	for _, o := range u.operations.Posts {
		w := o.arrived()
		there := slices.ContainsFunc(now, func(r record) bool { return r.key() == w.key() && target(r) == target(w) })
		note(there, !there)
	}
	switch {
	case allDone && !allUndone:
		return batch.Done
	case allUndone && !allDone:
		return batch.Undone
	}
	return batch.Unclear
}
