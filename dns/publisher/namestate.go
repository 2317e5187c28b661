package publisher

import (
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// nameState is everything that is known about one name in one zone, beside what the zone has
// and what objects ask for. Only the methods of [names] change it.
type nameState struct {
	name  string
	phase phase
	// place is its index among the names of its phase. ticket orders the dirty and the planned names, and serial those with
	// the same ticket: a name keeps both until its changes are made. namespace is the one whose turn the name uses.
	place          int
	ticket, serial uint64
	namespace      string
	// adds is true of a dirty name under which the zone has nothing of ours, so that its changes take nothing away.
	adds bool
	// again is true when objects ask for something else since the provider was asked, or since
	// the changes were planned.
	again bool
	// adjusted is what the provider stores for what objects ask for, if it has been asked.
	adjusted *adjustedSets
	// plan has the changes that the name needs. It is pared when the budget holds some of them:
	// then permitted has the others.
	plan, permitted group
	pared           bool
	// reason and message say why the name isn't as objects ask for; they are empty if it is, or
	// if nobody knows otherwise. next is when it is tried again.
	reason, message string
	next            time.Time
	// losing is since when the name is to lose record sets; zero if it isn't.
	losing time.Time
	// failures is how often in a row its changes failed. stale is true when they were out of
	// date the last time.
	failures int
	stale    bool
	// attempts are record sets of which it isn't known whether they were created. disowned are
	// the deletions of markers of ours that describe record sets of somebody else.
	attempts []*dns.RecordSet
	disowned []dns.Change
	// unseen are record sets that may be ours although the last listing doesn't show them: it may
	// be late.
	unseen []*dns.RecordSet
	// orphaned counts the looks at the zone that have shown markers which describe nothing.
	orphaned int
	// proposed are the changes that a dry run doesn't make.
	proposed group
	// lost says of each candidate that isn't published what it has lost to. Their objects have been
	// told. refused has the error about each candidate that the provider refuses.
	lost    map[candidateID]string
	refused map[candidateID]error
	// counted is true while the name is one of [names].failing.
	counted bool
}

// adjustedSets is what a provider stores for the record sets of a name.
type adjustedSets struct {
	candidates []plan.Candidate
	// holders are those by which the candidates were merged.
	holders string
}

// quiet reports whether there is nothing to say about a settled name.
func (n *nameState) quiet() bool {
	return n.reason == "" && n.failures == 0 && !n.stale && n.orphaned == 0 && len(n.lost)+len(n.refused) == 0 &&
		len(n.attempts) == 0 && len(n.disowned) == 0 && n.proposed.size() == 0
}

// attempted reports whether it isn't known of a record set of this key whether it was created.
func (n *nameState) attempted(r *dns.RecordSet) bool {
	return slices.ContainsFunc(n.attempts, func(a *dns.RecordSet) bool { return a.Key() == r.Key() })
}

// made reports whether a record set may be our own work.
func (n *nameState) made(r *dns.RecordSet) bool {
	same := func(o *dns.RecordSet) bool { return o.Key() == r.Key() && dns.SameTargets(o.Targets, r.Targets) }
	return slices.ContainsFunc(n.attempts, same) || slices.ContainsFunc(n.unseen, same)
}

// due returns the changes of the plan that may be made.
func (n *nameState) due() group {
	if n.pared {
		return n.permitted
	}
	return n.plan
}

// mostUnseen is how many record sets of a name are remembered that listings don't show.
const mostUnseen = 16

// miss adds to the record sets that may be ours although the last listing doesn't show them.
func (n *nameState) miss(sets []*dns.RecordSet) {
	for _, r := range sets {
		if !slices.ContainsFunc(n.unseen, func(o *dns.RecordSet) bool { return o.Key() == r.Key() && dns.SameTargets(o.Targets, r.Targets) }) {
			n.unseen = append(n.unseen, r)
		}
	}
	n.unseen = n.unseen[max(0, len(n.unseen)-mostUnseen):]
}
