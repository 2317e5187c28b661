package publisher

import (
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// nameState is the state of one name in one zone. Only the methods of [names] change it.
type nameState struct {
	name  string
	phase phase
	// heapIndex is the position in the heap of the phase; -1 if it is in none. ticket orders the dirty
	// and the planned names, and serial those with the same ticket. A name keeps both until its
	// changes are made. namespace is the one whose turn the name uses.
	heapIndex      int
	ticket, serial uint64
	namespace      string
	// onlyAdds is true for a dirty name without a record set of ours. Its changes can't delete
	// anything.
	onlyAdds bool
	// requeue is true if the wanted record sets have changed since the provider was asked or the
	// changes were planned.
	requeue bool
	// adjusted is the provider's form of the wanted record sets, if it was asked. recheck is that of its
	// last response.
	adjusted *adjustedSets
	recheck  bool
	// plan has the changes that the name needs. permitted has those that the budget doesn't hold.
	plan, permitted group
	// reason and message say why the zone doesn't have the wanted record sets; empty if no problem is
	// known. next is the time of the next attempt.
	reason, message string
	next            time.Time
	// lossSince is the time since which record sets of the name are to be deleted; zero if none are.
	lossSince time.Time
	// failures counts the failures in a row. stale is true if the changes were out of date the last
	// time.
	failures int
	stale    bool
	// attempts are record sets that may have been created since the last listing. unlisted are those
	// from before it, which it doesn't show. Because a listing may be late, the next one decides.
	attempts, unlisted []*dns.RecordSet
	// disowned are the deletions of our ownership records that describe record sets of another owner.
	// They are kept until a listing shows none of these ownership records, or the record sets are
	// created again.
	disowned []dns.Change
	// unseen are record sets that may be ours although the last listing doesn't show them, because a
	// listing may be late.
	unseen []*dns.RecordSet
	// orphaned counts the listings that have shown orphaned ownership records.
	orphaned int
	// proposed are the changes that a dry run would make.
	proposed group
	// lost says for each unpublished candidate what it lost to. Their objects have been notified.
	// refused has the error of each candidate that the provider refuses.
	lost    map[candidateID]string
	refused map[candidateID]error
	// counted is true while the name counts in [names].failing.
	counted bool
}

// adjustedSets is what a provider stores for the record sets of a name.
type adjustedSets struct {
	candidates []plan.Candidate
	// holders are the objects in whose favour the candidates were merged.
	holders string
	// recheck is true if the response has nothing for one of the wanted record sets, or something that
	// may change.
	recheck bool
}

// quiet reports whether there is nothing to report about a settled name.
func (n *nameState) quiet() bool {
	return n.reason == "" && n.failures == 0 && !n.stale && n.orphaned == 0 && !n.recheck && len(n.lost)+len(n.refused) == 0 &&
		len(n.attempts)+len(n.unlisted) == 0 && len(n.disowned) == 0 && n.proposed.size() == 0
}

// attempted reports whether a record set with the key of r may have been created.
func (n *nameState) attempted(r *dns.RecordSet) bool {
	return slices.ContainsFunc(slices.Concat(n.attempts, n.unlisted), func(a *dns.RecordSet) bool { return a.Key() == r.Key() })
}

// mayBeOurs reports whether this process may have created a record set. byTarget is true for a
// provider that writes targets one by one: the record set may then have some targets of any
// attempts.
func (n *nameState) mayBeOurs(r *dns.RecordSet, byTarget bool) bool {
	var tried []string
	for _, o := range slices.Concat(n.attempts, n.unlisted, n.unseen) {
		if o.Key() != r.Key() {
			continue
		}
		if dns.SameTargets(o.Targets, r.Targets) {
			return true
		}
		tried = append(tried, o.Targets...)
	}
	return byTarget && len(r.Targets) > 0 && dns.NewTargetSet(tried).Count(r.Targets) == len(r.Targets)
}

// decided records that changes were made: the attempts of their record sets are decided, and the ownership
// records of creations are valid.
func (n *nameState) decided(changes []dns.Change) {
	for _, c := range changes {
		same := func(r *dns.RecordSet) bool { return r.Key() == c.RecordSet().Key() }
		n.attempts, n.unlisted = slices.DeleteFunc(n.attempts, same), slices.DeleteFunc(n.unlisted, same)
		if c.Old == nil {
			n.disowned = nil
		}
	}
}

// maxUnseen limits the remembered record sets of a name that listings don't show.
const maxUnseen = 16

func (n *nameState) addUnseen(sets []*dns.RecordSet) {
	for _, r := range sets {
		if !slices.ContainsFunc(n.unseen, func(o *dns.RecordSet) bool { return o.Key() == r.Key() && dns.SameTargets(o.Targets, r.Targets) }) {
			n.unseen = append(n.unseen, r)
		}
	}
	n.unseen = n.unseen[max(0, len(n.unseen)-maxUnseen):]
}
