package cloudflare

import (
	"fmt"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// creations are the record sets that were created recently. Cloudflare can't create on condition that none
// exists, and listings lag, so another writer may have created records of the same name and type at the same
// time. Until a listing shows only our values, records with other values count as the other writer's.
type creations map[dns.Key]*creation

// creation is a recently created record set.
type creation struct {
	// values are the targets that were written last, or may have been.
	values map[string]bool
	at     time.Time
}

// intend is called before changes are sent, because their outcome may remain unknown.
func (c creations) intend(change dns.Change, at time.Time) {
	key := change.RecordSet().Key()
	if change.New == nil || change.Old != nil && c[key] == nil {
		return
	}
	if c[key] == nil {
		c[key] = &creation{values: map[string]bool{}}
	}
	c[key].at = at
	for v := range targetsOf(change.New) {
		c[key].values[v] = true
	}
}

// note is called after a change was made.
func (c creations) note(change dns.Change) {
	key := change.RecordSet().Key()
	switch {
	case change.New == nil:
		delete(c, key)
	case c[key] != nil:
		c[key].values = targetsOf(change.New)
	}
}

// targetsOf returns the targets of a record set in listed form.
func targetsOf(r *dns.RecordSet) map[string]bool {
	values := map[string]bool{}
	for _, t := range r.Normal().Targets {
		// A target that can't be sent is never listed.
		if o, err := value(strings.ToUpper(r.Type), t); err == nil {
			values[target(o.arrived())] = true
		}
	}
	return values
}

// check is called with a listing that began at a time. It forgets the creations whose records are all ours.
func (c creations) check(g groups, begun time.Time) {
	for key, creation := range c {
		if rows := g[key]; len(creation.ours(rows)) == len(rows) && begun.Sub(creation.at) > batch.Lag {
			delete(c, key)
		}
	}
}

// ours returns the records whose values we wrote. Without a creation, these are all.
func (c *creation) ours(rows []record) []record {
	if c == nil {
		return rows
	}
	var list []record
	for _, r := range rows {
		if c.values[target(r)] {
			list = append(list, r)
		}
	}
	return list
}

// intend is called before the changes of units are sent.
func (z *managedZone) intend(units []*unit, at time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, u := range units {
		for _, c := range u.Changes {
			z.creations.intend(c, at)
		}
	}
}

// own returns the records of a set that may be changed. If some aren't ours, the set can't be updated; a
// deletion deletes only ours.
func (z *managedZone) own(rows []record, c dns.Change) ([]record, error) {
	key := c.RecordSet().Key()
	z.mu.Lock()
	ours := z.creations[key].ours(rows)
	z.mu.Unlock()
	if len(ours) < len(rows) && c.New != nil {
		return nil, fmt.Errorf("%w: %s %s: another program has created a record of this name and type at the same time: delete one of them", provider.ErrRejected, key.Name, key.Type)
	}
	return ours, nil
}
