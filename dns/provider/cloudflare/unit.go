package cloudflare

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// unit is a group with its operations.
type unit struct {
	*batch.Group
	// operations are those of the records, before has the records that they replace or delete, and nameChange
	// is the change of the name's settings.
	operations operations[outgoing]
	before     []record
	nameChange nameChange
	// settingsErr is the error of the settings if the records were made.
	settingsErr error
}

// units groups changes by subject. A record set that another product of Cloudflare keeps stays, and the other types of
// its name are changed.
func units(changes []dns.Change, outside func(name string) error) []*unit {
	var list []*unit
	for _, g := range batch.BySubject(changes) {
		for _, part := range g.Split(keptByCloudflare) {
			for _, c := range part.Changes {
				if err := outside(c.RecordSet().Name); err != nil {
					part.Fail(err)
				}
			}
			list = append(list, &unit{Group: part})
		}
	}
	return list
}

// keptByCloudflare returns why a record set that was listed with such a record can't be changed, or nil.
func keptByCloudflare(c dns.Change) error {
	if c.Old == nil || !slices.ContainsFunc(c.Old.Properties, func(p dns.Property) bool { return p.Name == propertyKeptByCloudflare }) {
		return nil
	}
	return errKept(c.Old.Key())
}

func errKept(key dns.Key) error {
	return fmt.Errorf("%w: %s %s: another product of Cloudflare keeps a record of this name and type: remove it there", provider.ErrRejected, key.Name, key.Type)
}

// prepare computes the operations from the current records.
func (u *unit) prepare(m mapping, z *managedZone, now groups) {
	u.operations, u.before = operations[outgoing]{}, nil
	for _, c := range u.Changes {
		key := c.RecordSet().Key()
		if slices.ContainsFunc(now[key], record.readOnly) {
			u.Fail(errKept(key))
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
	if u.nameChange, err = settingsOf(m.recordOptions, u.Subject, u.Changes, now); err != nil {
		u.Fail(err)
	}
}

// swap adds the operations that turn the existing records of a set into the wanted ones. A record with a
// wanted value keeps its ID and gets the wanted attributes; in a set of ownership records, which may have
// texts of other owners, it stays unchanged. Of the others, as many as possible get a new value, so that the
// name always resolves.
func (u *unit) swap(there []record, wanted []outgoing, ownership bool) {
	byTarget := map[string][]int{} // positions in there
	for i, r := range there {
		byTarget[target(r)] = append(byTarget[target(r)], i)
	}
	kept := make([]bool, len(there))
	var missing []outgoing
	for _, w := range wanted {
		t := target(w.arrived())
		if len(byTarget[t]) == 0 {
			missing = append(missing, w)
			continue
		}
		i := byTarget[t][0]
		byTarget[t], kept[i] = byTarget[t][1:], true
		if r := there[i]; !ownership && !r.sameAttributes(w.arrived()) {
			u.patch(r, w)
		}
	}
	var surplus []record
	for i, r := range there {
		if !kept[i] {
			surplus = append(surplus, r)
		}
	}
	for i, r := range surplus {
		if i < len(missing) {
			u.patch(r, missing[i])
			continue
		}
		u.operations.Deletes = append(u.operations.Deletes, outgoing{ID: r.ID})
		u.before = append(u.before, r)
	}
	if len(missing) > len(surplus) {
		u.operations.Posts = append(u.operations.Posts, missing[len(surplus):]...)
	}
}

func (u *unit) patch(r record, w outgoing) {
	w.ID = r.ID
	u.operations.Patches = append(u.operations.Patches, w)
	u.before = append(u.before, r)
}

// state compares the current records with the operations.
func (u *unit) state(now []record) batch.State {
	byID := make(map[string]record, len(now))
	for _, r := range now {
		byID[r.ID] = r
	}
	beforeByID := make(map[string]record, len(u.before))
	for _, r := range u.before {
		beforeByID[r.ID] = r
	}
	type value struct {
		key    dns.Key
		target string
	}
	values := make(map[value]struct{}, len(now))
	for _, r := range now {
		values[value{r.key(), target(r)}] = struct{}{}
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
		note(there && r.same(o.arrived()), there && r.same(beforeByID[o.ID]))
	}
	for _, o := range u.operations.Posts {
		w := o.arrived()
		_, there := values[value{w.key(), target(w)}]
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
