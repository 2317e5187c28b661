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

// stillMarked returns the deletions of markers of a name that have not been made yet.
func (p *Publisher) stillMarked(z *zone, n *nameState) []dns.Change {
	var left []dns.Change
	for _, c := range n.disowned {
		key := c.Old.Key()
		there := p.zones.lookup(z)(key.Name)
		if i := slices.IndexFunc(there, func(r *dns.RecordSet) bool { return r.Key() == key }); i >= 0 && sameTexts(there[i].Targets, c.Old.Targets) {
			left = append(left, dns.Change{Old: there[i]})
		}
	}
	if len(left) == 0 {
		z.names.unmarked(n)
	}
	return left
}

// admits reports whether both the user and the provider want a name managed in a zone.
func (p *Publisher) admits(z *zone, name string) bool {
	return p.Domains.Match(name) && p.zones.admits(name) && p.zones.holds(z, name)
}

// sayUnselected logs, once for each zone, that names aren't published to it because the provider doesn't take them there. With
// several publishers that may well be what the user wants.
func (p *Publisher) sayUnselected(z *zone, name string, wanted []*dns.RecordSet) {
	if z.saidUnselected || len(wanted) == 0 || !p.Domains.Match(name) || !p.zones.holds(z, name) || p.zones.admits(name) {
		return
	}
	z.saidUnselected = true
	p.Log.Warn("Left out names that objects ask for; this line is not repeated for the zone", "zone", z.Name, "record", name, "err", desired.Unselected)
}

// planDirty plans the dirty names of a zone whose turn it is. With a [provider.Adjuster] these are the names
// whose answer is there, whatever else is asked.
func (p *Publisher) planDirty(z *zone) {
	_, adjusts := p.Provider.(provider.Adjuster)
	names := z.names.next(p.namesAtATime())
	news := refusals{}
	for _, n := range names {
		w := p.want(z, n.name)
		switch {
		case !p.admits(z, n.name):
			p.sayUnselected(z, n.name, w.sets())
			p.Metrics.conflicts(z, n.name, nil, p.Rules.Owner)
			p.grant(z, n.name, wish{}, news)
			z.others.drop(n.name)
			z.names.drop(n)
			continue
		case adjusts && len(w.wanted) > 0 && n.adjusted == nil:
			// It is asked about next.
			continue
		case adjusts && len(w.wanted) > 0 && n.adjusted.holders != p.holders(z, n.name):
			// Others have the name than when it was asked about.
			z.names.answer(n, nil)
			continue
		case adjusts && len(w.wanted) > 0:
			w.wanted = n.adjusted.candidates
		}
		p.grant(z, n.name, w, news)
		p.planName(z, n, w)
	}
	p.sayRefusals(z, news)
	p.logPlanned(z, names)
	p.readmit(z)
	p.measure(z)
}

// planName plans one name.
func (p *Publisher) planName(z *zone, n *nameState, w wish) {
	if unmark := p.stillMarked(z, n); len(unmark) > 0 {
		z.names.planned(n, group{name: n.name, orphans: unmark})
		return
	}
	if !w.until.IsZero() {
		p.passOn(z, n, w.until)
		return
	}
	current := p.relabelled(p.current(z, n.name), w.sets())
	p.noteUnowned(z, n.name, current, w.sets())
	out := plan.Name(current, w.wanted, &p.Rules)
	out.Changes = p.withoutVoid(z, current, out.Changes)
	if clash := p.clash(z, n, out.Changes); clash.message != "" {
		p.yield(z, n, clash, out)
		return
	}
	explained, reason := z.mirror.node(n.name).explained, ""
	for _, c := range out.Changes {
		if why := p.held(c, explained); why != "" {
			reason = why
		}
	}
	if reason == "" && p.complete() && !slices.ContainsFunc(out.Changes, loses) {
		z.mirror.explain(n.name)
	}
	if err := p.unmarkable(z, out.Changes); err != nil {
		p.postpone(z, n, group{name: n.name, changes: out.Changes}, err)
		return
	}
	if len(out.Changes)+len(out.Refused) == 0 {
		z.names.settle(n)
	}
	p.sayWhy(z, n, reason, p.conflict(z, n, w.left, out))
	p.sayLost(z, n, w.wanted, out)
	if reason != "" {
		z.names.hold(n)
		return
	}
	if first := p.remark(z, current, out.Changes); len(first) > 0 {
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
	if p.pauses(z, n, g) {
		return
	}
	z.names.planned(n, g)
}

// passOn lets a name wait until it goes to another namespace, because the one that has it asks no more.
func (p *Publisher) passOn(z *zone, n *nameState, until time.Time) {
	z.names.settle(n)
	z.names.loses(n, time.Now())
	z.names.explain(n, ReasonDelayed, "the namespace that has the name asks for it no more; it goes to another one if that stays so")
	z.names.wait(n, until)
}

// delay returns the changes of a name that may be made by now, and when the deletions may be made
// that it leaves out. Objects and load balancers that are replaced are gone for a moment, and
// resolvers would remember that there is no record.
func (p *Publisher) delay(z *zone, n *nameState, changes []dns.Change) (now []dns.Change, until time.Time) {
	lost := budget.Losses(changes)
	if len(lost) == 0 {
		z.names.keeps(n)
		return changes, time.Time{}
	}
	until = z.names.loses(n, time.Now()).Add(p.DeletionDelay)
	// A run that ends has nothing to wait for.
	if p.once != nil || !time.Now().Before(until) {
		return changes, time.Time{}
	}
	z.names.explain(n, ReasonDelayed, "nobody asks for it any more; it is deleted if that stays so")
	return slices.DeleteFunc(slices.Clone(changes), func(c dns.Change) bool {
		return slices.ContainsFunc(lost, func(l dns.Change) bool { return l.Old == c.Old })
	}), until
}

// sayWhy sets why a name isn't as objects ask for. What is in the way of it counts more than
// what holds up its changes; an error stays until it is mended.
func (p *Publisher) sayWhy(z *zone, n *nameState, gate, conflict string) {
	switch {
	case conflict != "":
		z.names.explain(n, ReasonConflict, conflict)
	case gate != "":
		z.names.explain(n, ReasonSource, gate)
	case n.failures == 0 && !z.names.trials[n.name].told:
		z.names.explain(n, "", "")
	}
	if gate != "" {
		p.Log.Debug("Hold back a change", "record", n.name, "reason", gate)
	}
}

// marking is an owner that knows the name of a marker in advance.
type marking interface {
	// MarkerName returns the name of the marker of a record set, or "" if it has none.
	MarkerName(name, recordType string) string
}

// unmarkable returns an error if a record set is to be created whose marker the provider can't
// have.
func (p *Publisher) unmarkable(z *zone, changes []dns.Change) error {
	o, ok := p.Owner.(marking)
	if !ok {
		return nil
	}
	for _, c := range changes {
		if c.Old != nil {
			continue
		}
		if marker := o.MarkerName(c.New.Name, c.New.Type); marker != "" && !canMark(p.zones, z, dns.Canonical(marker)) {
			return outside(marker)
		}
	}
	return nil
}

// withoutVoid leaves out the changes of ownership alone that would change nothing, and be needed again:
//
//   - The ownership record can't be written. The record set keeps the one that it has, such as one in the
//     format without a type beside the apex of a zone.
//   - The ownership record is shared with another name, and names an object that asks for that one.
func (p *Publisher) withoutVoid(z *zone, current []plan.Current, changes []dns.Change) []dns.Change {
	o, ok := p.Owner.(marking)
	if !ok {
		return changes
	}
	void := func(c dns.Change) bool {
		if !owner.LabelsOnly(c) {
			return false
		}
		marker := o.MarkerName(c.New.Name, c.New.Type)
		return marker == "" || !canMark(p.zones, z, dns.Canonical(marker)) || p.namesTwin(z, current, c)
	}
	if !slices.ContainsFunc(changes, void) {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), void)
}

// canMark reports whether the provider can have a marker of a record set of a zone.
func canMark(zones *zoneSet, z *zone, marker string) bool {
	return zones.owningZone(z, marker) != nil && zones.admits(marker)
}

// collector is an owner with markers in the zones that can tell when one is useless.
type collector interface {
	// Orphan reports whether a marker is ours and describes no record set that exists.
	Orphan(zone func(name string) []*dns.RecordSet, marker *dns.RecordSet) bool
	// Unmark returns the deletions of our markers of a record set.
	Unmark(zone owner.Lookup, r *dns.RecordSet) []dns.Change
}

// disown handles the attempts of which it isn't known whether they created record sets. If the
// zone has a record set of the same key that was neither attempted nor ours before, somebody
// else was faster. Then our marker has to go: it would make the record set ours. A marker that an atomic
// provider has made didn't come without its record set; a process before this one may have sent both, which a server has
// carried out late.
func (p *Publisher) disown(z *zone) {
	c, ok := p.Owner.(collector)
	_, atomic := p.Provider.(provider.Atomic)
	for name, n := range z.names.all {
		if len(n.attempts) == 0 {
			continue
		}
		var unmark []dns.Change
		for _, there := range z.mirror.lookup(name) {
			if ok && n.attempted(there) && !n.made(there) {
				unmark = append(unmark, c.Unmark(p.zones.lookup(z), there)...)
			}
		}
		if atomic {
			unmark = slices.DeleteFunc(unmark, func(c dns.Change) bool { return p.zones.owningZone(z, c.Old.Name) == z })
		}
		z.names.disown(n, unmark)
	}
}

// orphanListings is how many further listings must show that a marker describes nothing before
// it is deleted. Its record set may just be being created.
const orphanListings = 2

// orphans returns the deletions of markers that describe nothing. It returns none if something
// is about to be created under the name. Such markers may keep another owner from using the
// name.
func (p *Publisher) orphans(z *zone, n *nameState, out plan.Outcome) []dns.Change {
	var changes []dns.Change
	if c, ok := p.Owner.(collector); ok && len(out.Changes) == 0 && p.Rules.Policy == plan.Sync && p.complete() {
		for _, marker := range z.mirror.node(n.name).markers {
			if c.Orphan(p.zones.lookup(z), marker) {
				changes = append(changes, dns.Change{Old: marker})
			}
		}
	}
	if !z.names.orphan(n, len(changes)) {
		return nil
	}
	return changes
}

// conflict returns what of the zone is in the way of a name, or what the provider can't have. It
// reports that when the message changes.
func (p *Publisher) conflict(z *zone, n *nameState, left []impossible, out plan.Outcome) string {
	p.Metrics.conflicts(z, n.name, out.Conflicts, p.Rules.Owner)
	message := ""
	var about []*dns.RecordSet
	for _, c := range out.Conflicts {
		message, about = obstacle(c), append(about, c.Wanted)
	}
	for _, i := range left {
		message, about = i.reason, []*dns.RecordSet{i.set}
	}
	if message == "" || n.reason == ReasonConflict && n.message == message {
		return message
	}
	p.Log.Warn("Can't publish a record", "record", n.name, "zone", z.Name, "err", message)
	p.Notify(Notice{Objects: objectsOf(about), Record: about[0], Action: ActionFailed, Reason: ReasonConflict, Message: message})
	return message
}

// obstacle returns the message for a conflict.
func obstacle(c plan.Conflict) string {
	there := fmt.Sprintf("the zone's %s record %s", c.Current.Type, c.Current.Name)
	switch foreign := c.ForeignOwner(); {
	case c.Obstacle == plan.NotDeletable:
		return there + " is in the way, and the policy forbids its deletion: delete it yourself, or give --policy=sync"
	case foreign == "":
		return there + " has no known owner and is left alone: delete it, or add an ownership record for it"
	default:
		return there + " belongs to the owner " + ownerOf(c.Current.Labels) + " and is left alone: use another name, or have that owner remove it"
	}
}
