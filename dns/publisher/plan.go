package publisher

import (
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

// pendingOwnershipRemovals returns the deletions of a name's ownership records that are still in
// the zones. After they were made, a late listing may show the ownership records again.
func (p *Publisher) pendingOwnershipRemovals(z *zone, n *nameState) []dns.Change {
	var left []dns.Change
	for _, c := range n.disowned {
		key := c.Old.Key()
		there := p.zones.lookup(z)(key.Name)
		if i := slices.IndexFunc(there, func(r *dns.RecordSet) bool { return r.Key() == key }); i >= 0 && sameTexts(there[i].Targets, c.Old.Targets) {
			left = append(left, dns.Change{Old: there[i]})
		}
	}
	return left
}

// admits reports whether both the user's and the provider's filter select a name in a zone.
func (p *Publisher) admits(z *zone, name string) bool {
	return p.Domains.Match(name) && p.zones.admits(name) && p.zones.holds(z, name)
}

// logUnselected logs, once for each zone, that names aren't published to it because the provider's
// filter excludes them. With several publishers that may be intended.
func (p *Publisher) logUnselected(z *zone, name string, wanted []*dns.RecordSet) {
	if z.unselectedLogged || len(wanted) == 0 || !p.Domains.Match(name) || !p.zones.holds(z, name) || p.zones.admits(name) {
		return
	}
	z.unselectedLogged = true
	p.Log.Warn("Left out names that objects ask for; this line is not repeated for the zone", "zone", z.Name, "record", name, "err", desired.Unselected)
}

// planDirty plans the dirty names of a zone whose turn it is. With a [provider.Adjuster], only
// names with a response are planned.
func (p *Publisher) planDirty(z *zone) {
	_, adjusts := p.Provider.(provider.Adjuster)
	names := z.names.next(p.maxNamesPerPass())
	unreported := refusals{}
	for _, n := range names {
		w := p.want(z, n.name)
		switch {
		case !p.admits(z, n.name):
			p.logUnselected(z, n.name, w.sets())
			p.Metrics.conflicts(z, n.name, nil, p.Rules.Owner)
			p.grant(z, n.name, demand{}, unreported)
			z.otherOwners.drop(n.name)
			z.names.drop(n)
			continue
		case adjusts && len(w.wanted) > 0 && n.adjusted == nil:
			// The provider is asked about the name next.
			continue
		case adjusts && len(w.wanted) > 0 && n.adjusted.holders != p.holders(z, n.name):
			// The holders have changed since the query.
			z.names.responded(n, nil)
			continue
		case adjusts && len(w.wanted) > 0:
			w.wanted = n.adjusted.candidates
		}
		p.grant(z, n.name, w, unreported)
		p.planName(z, n, w)
	}
	p.reportRefusals(z, unreported)
	p.logPlanned(z, names)
	p.readmit(z)
	p.measure(z)
}

func (p *Publisher) planName(z *zone, n *nameState, w demand) {
	if removals := p.pendingOwnershipRemovals(z, n); len(removals) > 0 {
		z.names.planned(n, group{name: n.name, orphans: removals})
		return
	}
	if !w.transferAt.IsZero() {
		p.delayTransfer(z, n, w.transferAt)
		return
	}
	current := p.relabelled(p.current(z, n.name), w.sets())
	p.noteUnowned(z, n.name, current, w.sets())
	out := plan.Name(current, w.wanted, &p.Rules)
	out.Changes = p.withoutNoOps(z, current, out.Changes)
	z.ledger.Needs(n.name, out.Changes)
	if clash := p.findNameConflict(z, n, out.Changes); clash.message != "" {
		p.deferToOther(z, n, clash, out)
		return
	}
	explained, reason, concerned := z.mirror.node(n.name).allWanted, "", p.concerned(z, n.name, w)
	for _, c := range out.Changes {
		if why := p.holdReason(c, explained, concerned); why != "" {
			reason = why
		}
	}
	if reason == "" && p.complete() && !slices.ContainsFunc(out.Changes, loses) {
		z.mirror.markAllWanted(n.name)
	}
	if err := p.checkOwnable(z, out.Changes); err != nil {
		p.postpone(z, n, group{name: n.name, changes: out.Changes}, err)
		return
	}
	if len(out.Changes)+len(out.Refused) == 0 {
		z.names.settle(n)
	}
	p.setReason(z, n, reason, p.conflict(z, n, w.unsupported, out))
	p.reportLost(z, n, w.wanted, out)
	if reason != "" {
		z.names.hold(n)
		return
	}
	if first := p.rewriteOwnership(z, current, out.Changes); len(first) > 0 {
		z.names.planned(n, group{name: n.name, changes: first})
		return
	}
	if len(out.Changes) == 0 && len(out.Refused) > 0 {
		p.postpone(z, n, group{name: n.name, changes: asChanges(out.Refused)}, out.Refused[0].Err)
		return
	}
	changes, until := p.delay(z, n, out.Changes)
	if len(changes) == 0 && !until.IsZero() {
		z.names.wait(n, until)
		return
	}
	g := group{name: n.name, changes: changes, orphans: p.orphans(z, n, out)}
	if p.delayRepeated(z, n, g) {
		return
	}
	z.names.planned(n, g)
}

// delayTransfer delays a name whose holder no longer asks for it until it goes to another
// namespace.
func (p *Publisher) delayTransfer(z *zone, n *nameState, until time.Time) {
	z.names.settle(n)
	z.names.noteLoss(n, time.Now())
	z.names.setReason(n, ReasonDelayed, "the namespace that has the name no longer asks for it; after the deletion delay, the name goes to another namespace")
	z.names.wait(n, until)
}

// delay returns the changes of a name that may be made now, and when the postponed deletions may be
// made. Objects and load balancers that are replaced are gone for a moment, and resolvers would
// cache the negative response. What can't stand beside a record set whose deletion is postponed is
// postponed too.
func (p *Publisher) delay(z *zone, n *nameState, changes []dns.Change) (now []dns.Change, until time.Time) {
	lost := budget.Losses(changes)
	if len(lost) == 0 {
		z.names.clearLoss(n)
		return changes, time.Time{}
	}
	until = z.names.noteLoss(n, time.Now()).Add(p.DeletionDelay)
	// A run that ends can't wait.
	if p.once != nil || !time.Now().Before(until) {
		return changes, time.Time{}
	}
	message := "no object asks for it any more; it is deleted after the deletion delay"
	if now = budget.Without(changes, lost); len(now)+len(lost) < len(changes) {
		message = "no object asks for some of its record sets any more, and new ones can't stand beside them; all are replaced after the deletion delay"
	}
	z.names.setReason(n, ReasonDelayed, message)
	return now, until
}

// setReason sets why the zone doesn't have what is wanted under a name. A conflict takes precedence
// over a hold. An error stays until a change succeeds.
func (p *Publisher) setReason(z *zone, n *nameState, hold, conflict string) {
	switch {
	case conflict != "":
		z.names.setReason(n, ReasonConflict, conflict)
	case hold != "":
		z.names.setReason(n, ReasonSource, hold)
	case n.failures == 0 && !z.names.trials[n.name].reported:
		z.names.setReason(n, "", "")
	}
	if hold != "" {
		p.Log.Debug("Held a change", "record", n.name, "reason", hold)
	}
}

// txt returns the registry if it keeps ownership in TXT records, or nil.
func (p *Publisher) txt() *owner.TXT {
	txt, _ := p.Owner.(*owner.TXT)
	return txt
}

// checkOwnable returns an error if the changes create a record set whose ownership record the
// provider can't have.
func (p *Publisher) checkOwnable(z *zone, changes []dns.Change) error {
	txt := p.txt()
	if txt == nil {
		return nil
	}
	for _, c := range changes {
		if c.Old != nil {
			continue
		}
		if ownership := txt.OwnershipRecordName(c.New.Name, c.New.Type); ownership != "" && !canOwn(p.zones, z, dns.Canonical(ownership)) {
			return outsideError(ownership)
		}
	}
	return nil
}

// withoutNoOps leaves out label updates that would have no effect and be planned again:
//
//   - The ownership record can't be written. The record set keeps the one that it has, such as one
//     in the format without a type beside the apex of a zone.
//   - The ownership record is shared with another name, and names an object that asks for that one.
func (p *Publisher) withoutNoOps(z *zone, current []plan.Current, changes []dns.Change) []dns.Change {
	txt := p.txt()
	if txt == nil {
		return changes
	}
	void := func(c dns.Change) bool {
		if !owner.LabelsOnly(c) {
			return false
		}
		ownership := txt.OwnershipRecordName(c.New.Name, c.New.Type)
		return ownership == "" || !canOwn(p.zones, z, dns.Canonical(ownership)) || p.namesTwin(z, current, c)
	}
	if !slices.ContainsFunc(changes, void) {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), void)
}

// canOwn reports whether the provider can have an ownership record of a zone under a name.
func canOwn(zones *zoneSet, z *zone, ownership string) bool {
	return zones.owningZone(z, ownership) != nil && zones.admits(ownership)
}

// disown handles record sets that may have been created. If the zone has another record set with
// such a key that wasn't ours before, another writer was faster. Our ownership record must then be
// deleted, because it would claim that record set. If the provider writes by target, a record set
// with only some of the targets that this process tried to create is ours. An atomic provider never
// has an ownership record without its record set, but an earlier process may have sent both to a
// server that was late to apply them.
func (p *Publisher) disown(z *zone) {
	txt := p.txt()
	_, atomic := p.Provider.(provider.Atomic)
	for name, n := range z.names.all {
		if len(n.attempts)+len(n.unlisted) == 0 {
			continue
		}
		var removals []dns.Change
		there := z.mirror.lookup(name)
		for _, r := range there {
			if txt != nil && n.attempted(r) && !n.mayBeOurs(r, p.capabilities.ByTarget) {
				removals = append(removals, txt.OwnershipDeletions(p.zones.lookup(z), r)...)
			}
		}
		if atomic {
			removals = slices.DeleteFunc(removals, func(c dns.Change) bool { return p.zones.owningZone(z, c.Old.Name) == z })
		}
		z.names.disown(n, there, removals)
	}
}

// confirmOwnershipGone handles a listing of a zone that shows none of the ownership records that had
// to be deleted for a name. Those in later were written while the zone was listed.
func (p *Publisher) confirmOwnershipGone(listed *zone, later map[string]struct{}) {
	for _, z := range p.zones.all() {
		for _, n := range z.names.all {
			shown := func(c dns.Change) bool {
				_, written := later[c.Old.Key().Name]
				return !written && p.zones.owningZone(z, c.Old.Name) == listed
			}
			if slices.ContainsFunc(n.disowned, shown) && len(p.pendingOwnershipRemovals(z, n)) == 0 {
				z.names.ownershipGone(n)
			}
		}
	}
}

// orphanListings is how many further listings must show an orphaned ownership record before it is
// deleted, because its record set may just be being created.
const orphanListings = 2

// orphans returns the deletions of orphaned ownership records, which may keep another owner from
// using the name. It returns none if something is about to be created under the name.
func (p *Publisher) orphans(z *zone, n *nameState, out plan.Outcome) []dns.Change {
	var changes []dns.Change
	if txt := p.txt(); txt != nil && len(out.Changes) == 0 && p.Rules.Policy == plan.Sync && p.complete() {
		for _, ownership := range z.mirror.node(n.name).ownership {
			if txt.Orphan(p.zones.lookup(z), ownership) {
				changes = append(changes, dns.Change{Old: ownership})
			}
		}
	}
	if !z.names.orphan(n, len(changes)) {
		return nil
	}
	return changes
}

// conflict returns a message about what blocks a name in the zone or can't be stored by the
// provider; "" for no conflict. It reports the conflict when the message changes.
func (p *Publisher) conflict(z *zone, n *nameState, left []unsupportedSet, out plan.Outcome) string {
	p.Metrics.conflicts(z, n.name, out.Conflicts, p.Rules.Owner)
	message := ""
	var about []*dns.RecordSet
	for _, c := range out.Conflicts {
		message, about = obstacle(c), append(about, c.Wanted)
	}
	for _, i := range left {
		message, about = i.reason, []*dns.RecordSet{i.set}
	}
	if message != "" {
		p.reportConflict(z, n, nameConflict{message, about[0], objectsOf(about)})
	}
	return message
}

func obstacle(c plan.Conflict) string {
	there := fmt.Sprintf("the zone's %s record %s", c.Current.Type, c.Current.Name)
	switch otherOwner := c.OtherOwner(); {
	case c.Obstacle == plan.NotDeletable:
		return there + " conflicts with it, and the policy forbids its deletion: delete it yourself, or set --policy=sync"
	case c.Obstacle == plan.ReplacementRefused:
		return there + " conflicts with it, and stays because the provider refuses the record that its object asks for: correct that object"
	case otherOwner == "":
		return there + " has no known owner and is left alone: delete it, or add an ownership record for it"
	default:
		return there + " belongs to the owner " + ownerOf(c.Current.Labels) + " and is left alone: use another name, or have that owner remove it"
	}
}
