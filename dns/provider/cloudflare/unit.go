package cloudflare

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// unit is the changes of one name, with those of its ownership records. They are made together
// or not at all.
type unit struct {
	subject string
	// changes are those of the name, and places has the index of each among all changes.
	changes []dns.Change
	places  []int
	// operations are what is sent for the records, before has the records that they replace or
	// delete, and side is what changes that belongs to the name.
	operations batch[outgoing]
	before     []record
	side       side
	// made is true when the records were made, and late says why what belongs to the name wasn't.
	made bool
	late error
	// err says why nothing was made.
	err error
}

// units groups changes by what they are about.
func units(changes []dns.Change, outside func(name string) error) []*unit {
	bySubject := map[string]*unit{}
	var list []*unit
	for i, c := range changes {
		subject := c.Subject()
		u := bySubject[subject]
		if u == nil {
			u = &unit{subject: subject}
			bySubject[subject], list = u, append(list, u)
		}
		u.changes, u.places = append(u.changes, c), append(u.places, i)
		if err := outside(c.RecordSet().Name); err != nil {
			u.fail(err)
		}
	}
	return list
}

func (u *unit) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

// size returns how many operations the unit has in a batch.
func (u *unit) size() int { return u.operations.size() }

// report puts the errors of the changes into a list, and reports whether there are any.
func (u *unit) report(errs []error) bool {
	for i, c := range u.changes {
		switch {
		case u.err != nil:
			errs[u.places[i]] = u.err
		case u.late != nil && belongs(c):
			errs[u.places[i]] = u.late
		}
	}
	return u.err != nil || u.late != nil
}

// prepare works out what has to be sent, from the records that there are now.
func (u *unit) prepare(m mapping, z *managedZone, now groups) {
	u.operations, u.before = batch[outgoing]{}, nil
	for _, c := range u.changes {
		key := c.RecordSet().Key()
		if slices.ContainsFunc(now[key], record.foreign) {
			u.fail(fmt.Errorf("%w: %s %s: another product of Cloudflare keeps a record of this name and type: remove it there", provider.ErrRejected, key.Name, key.Type))
			return
		}
		there, err := z.own(now[key], c)
		if err != nil {
			u.fail(err)
			return
		}
		var wanted []outgoing
		if c.New != nil {
			if wanted, err = m.wanted(c.New); err != nil {
				u.fail(err)
				return
			}
		}
		u.swap(there, wanted, isMarker(c.New))
	}
	var err error
	if u.side, err = sideOf(m.wishes, u.subject, u.changes, now); err != nil {
		u.fail(err)
	}
}

// isMarker reports whether a record set is an ownership record.
func isMarker(r *dns.RecordSet) bool { return r != nil && r.Labels[dns.LabelOwnedRecord] != "" }

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
func (u *unit) state(now []record) state {
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
		return done
	case allUndone && !allDone:
		return undone
	}
	return unclear
}
