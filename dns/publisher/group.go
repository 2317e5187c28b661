package publisher

import (
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
