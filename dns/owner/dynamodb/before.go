package dynamodb

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Before implements [owner.Owner]. It writes record sets that are created, or whose labels
// change, to the table. It refuses a creation if the item belongs to somebody else, and an
// update or a deletion if the item isn't ours. If the table can't be written, it returns an
// error, and no change may be applied.
//
// For record sets that are taken over from TXT records, it returns the deletion of those
// records if that is configured. If the record set itself is as it should be, its own change
// is left out.
func (t *Table) Before(ctx context.Context, zone owner.Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	t.calls.Lock()
	defer t.calls.Unlock()
	reasons := make([]string, len(changes))
	var statements []statement
	for i, c := range changes {
		if reasons[i] = t.objection(zone, c); reasons[i] == "" && c.New != nil {
			statements = t.claim(statements, i, c)
		}
	}
	t.spares(zone, changes)
	failed, err := t.execute(ctx, statements)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range failed {
		reasons[s.index] = fmt.Sprintf("it belongs to another owner in DynamoDB table %s: use another name, or remove its item there", t.name)
	}
	owner.KeepReplaced(changes, reasons)
	for i, c := range changes {
		if reasons[i] != "" {
			refused = append(refused, c)
			t.problems(owner.Refusal(c.RecordSet(), reasons[i]))
			continue
		}
		if !owner.LabelsOnly(c) {
			apply = append(apply, owner.Claim(c, t.id))
		}
		if t.removeTXT && t.txt != nil && c.Old != nil {
			apply = append(apply, t.txt.Unmark(zone, c.Old)...)
		}
	}
	return apply, refused, nil
}

// objection returns why a change must not be made, as far as that is known without the table,
// or "".
func (t *Table) objection(zone owner.Lookup, c dns.Change) string {
	if t.txt != nil {
		for _, r := range []*dns.RecordSet{c.Old, c.New} {
			if r == nil {
				continue
			}
			if _, marker := t.txt.Mark(r); marker {
				return "it is an ownership record"
			}
		}
	}
	if c.Old == nil {
		return ""
	}
	labels, _ := t.Labels(zone, c.Old)
	switch id := labels[dns.LabelOwner]; {
	case id == t.id:
		return ""
	case id == "":
		return "it has no owner, so this program didn't create it"
	case t.txt != nil && id == t.txt.OldID() && c.New != nil:
		return ""
	default:
		return fmt.Sprintf("it belongs to owner %q", id)
	}
}

// claim adds the statement that makes the record set of a change ours in the table.
func (t *Table) claim(to []statement, index int, c dns.Change) []statement {
	key := c.New.Key()
	it := &item{k: textOf(c.New), labels: kept(c.New.Labels, t.id)}
	had := t.item(key)
	switch {
	case had == nil:
		return append(to, t.insert(key, it, index))
	case maps.Equal(had.labels, it.labels):
		return to
	}
	it.k = had.k
	return append(to, t.update(key, it, index))
}

// spares notes the items without a record set under the names that are changed.
func (t *Table) spares(zone owner.Lookup, changes []dns.Change) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, c := range changes {
		name := c.RecordSet().Key().Name
		var spare []dns.Key
		for key := range t.items[name] {
			there := slices.ContainsFunc(zone(name), func(r *dns.RecordSet) bool { return r.Key() == key })
			wanted := slices.ContainsFunc(changes, func(c dns.Change) bool { return c.New != nil && c.New.Key() == key })
			if !there && !wanted {
				spare = append(spare, key)
			}
		}
		if t.spare[name] = spare; len(spare) == 0 {
			delete(t.spare, name)
		}
	}
}

// After implements [owner.Owner]. It deletes the items of record sets that were deleted, and
// the items under the same names that had no record set.
func (t *Table) After(ctx context.Context, applied []dns.Change) error {
	t.calls.Lock()
	defer t.calls.Unlock()
	var statements []statement
	done := map[dns.Key]bool{}
	drop := func(key dns.Key) {
		if it := t.item(key); it != nil && !done[key] {
			done[key] = true
			statements = append(statements, t.remove(key, it))
		}
	}
	for _, c := range applied {
		key := c.RecordSet().Key()
		if c.New == nil {
			drop(key)
		}
		for _, spare := range t.spare[key.Name] {
			drop(spare)
		}
		delete(t.spare, key.Name)
	}
	failed, err := t.execute(ctx, statements)
	if err != nil {
		return err
	}
	for _, s := range failed {
		// Somebody else has removed or taken the item.
		t.store(s.key, nil)
	}
	return nil
}
