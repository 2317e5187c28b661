package dynamodb

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Before implements [owner.Owner]: what is to be created, and what has other labels than
// before, is written to the table. A creation is refused when the table has it from
// somebody else; an update or a deletion when it isn't ours. When nothing can be said of the
// table there is an error, and nothing may be applied.
//
// Record sets that are taken over from TXT records come back without a change if they
// are as they should be, and with the removal of those records if that is wanted.
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
		reasons[s.index] = fmt.Sprintf("DynamoDB table %s has it as somebody else's: give it another name, or remove it there", t.name)
	}
	keepReplaced(changes, reasons)
	for i, c := range changes {
		if reasons[i] != "" {
			refused = append(refused, c)
			t.problem(c.RecordSet(), reasons[i])
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

// objection returns why a change must not be made, as far as that is known without a look
// at the table.
func (t *Table) objection(zone owner.Lookup, c dns.Change) string {
	if t.txt != nil {
		for _, r := range []*dns.RecordSet{c.Old, c.New} {
			if r == nil {
				continue
			}
			if _, marker := t.txt.Mark(r); marker {
				return "it is a TXT record that says who owns a record"
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
		return "nobody owns it: it was not made by this program"
	case t.txt != nil && id == t.txt.OldID() && c.New != nil:
		return ""
	default:
		return fmt.Sprintf("it belongs to owner %q", id)
	}
}

// claim adds what makes the table say that the record set of a change is ours.
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

// spares notes the items without a record set of the names that are changed.
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

// keepReplaced has nothing deleted under a name where something can't be as it is to be.
func keepReplaced(changes []dns.Change, reasons []string) {
	stuck := map[string]bool{}
	for i, c := range changes {
		if c.New != nil && reasons[i] != "" {
			stuck[c.New.Key().Name] = true
		}
	}
	for i, c := range changes {
		if c.New == nil && reasons[i] == "" && stuck[c.Old.Key().Name] {
			reasons[i] = "what is to replace it can't be created"
		}
	}
}

func (t *Table) problem(r *dns.RecordSet, reason string) {
	p := dns.Problem{Subject: r.Type + " record", Value: r.Name, Reason: reason}
	if len(r.Objects) > 0 {
		p.Object = r.Objects[0]
	}
	t.problems(p)
}

// After implements [owner.Owner]: the items of what was deleted are deleted, and those of the
// same names that had no record set.
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
		// Somebody else has removed it, or taken it.
		t.store(s.key, nil)
	}
	return nil
}
