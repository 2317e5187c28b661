package cloudflare

import (
	"fmt"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// claims are the record sets of a zone that were created lately. Cloudflare has no condition for that, and
// a listing may lag behind, so somebody else may have made a record of the same name and type in the same
// moment. Until a listing shows that nobody has, what isn't of the values that were written is hers.
type claims map[dns.Key]*claim

// claim is a record set that was created.
type claim struct {
	// values are the targets that were written last, or may have been.
	values map[string]bool
	at     time.Time
}

// intend is called before changes are sent: whether they are made may not be known afterwards.
func (c claims) intend(change dns.Change, at time.Time) {
	key := change.RecordSet().Key()
	if change.New == nil || change.Old != nil && c[key] == nil {
		return
	}
	if c[key] == nil {
		c[key] = &claim{values: map[string]bool{}}
	}
	c[key].at = at
	for v := range valuesOf(change.New) {
		c[key].values[v] = true
	}
}

// note is called when a change was made.
func (c claims) note(change dns.Change) {
	key := change.RecordSet().Key()
	switch {
	case change.New == nil:
		delete(c, key)
	case c[key] != nil:
		c[key].values = valuesOf(change.New)
	}
}

// valuesOf returns the targets of a record set as they are listed.
func valuesOf(r *dns.RecordSet) map[string]bool {
	values := map[string]bool{}
	for _, t := range r.Normal().Targets {
		// What can't be sent isn't there either.
		if o, err := value(strings.ToUpper(r.Type), t); err == nil {
			values[target(o.arrived())] = true
		}
	}
	return values
}

// check is called with a listing that began at a time. Record sets that are only ours need no claim any
// more then.
func (c claims) check(g groups, begun time.Time) {
	for key, claim := range c {
		if rows := g[key]; len(claim.ours(rows)) == len(rows) && begun.Sub(claim.at) > lag {
			delete(c, key)
		}
	}
}

// ours returns the records of a set that have values that were written; without a claim, that is all.
func (c *claim) ours(rows []record) []record {
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
			z.claims.intend(c, at)
		}
	}
}

// own returns the records of a set that may be changed. A set that isn't only ours can only be
// deleted, as far as it is ours.
func (z *managedZone) own(rows []record, c dns.Change) ([]record, error) {
	key := c.RecordSet().Key()
	z.mu.Lock()
	ours := z.claims[key].ours(rows)
	z.mu.Unlock()
	if len(ours) < len(rows) && c.New != nil {
		return nil, fmt.Errorf("%w: %s %s: somebody else has made a record of this name and type in the same moment: delete one of them", provider.ErrRejected, key.Name, key.Type)
	}
	return ours, nil
}
