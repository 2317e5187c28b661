package publisher

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

// stillMarked returns the deletions in z.disowned for a name that have not been made yet.
func (p *Publisher) stillMarked(z *zone, name string) []dns.Change {
	var left []dns.Change
	for _, c := range z.disowned[name] {
		key := c.Old.Key()
		there := p.zones.lookup(key.Name)
		if i := slices.IndexFunc(there, func(r *dns.RecordSet) bool { return r.Key() == key }); i >= 0 && sameTexts(there[i].Targets, c.Old.Targets) {
			left = append(left, dns.Change{Old: there[i]})
		}
	}
	if len(left) == 0 {
		delete(z.disowned, name)
	}
	return left
}

// admits reports whether both the user and the provider want a name managed.
func (p *Publisher) admits(name string) bool {
	return p.Domains.Match(name) && (p.zones.filter == nil || p.zones.filter.Match(name))
}

// planDirty plans the dirty names of a zone and queues their changes. With a
// [provider.Adjuster] these are the names whose answer is there, whatever else is asked.
func (p *Publisher) planDirty(z *zone, now time.Time) {
	_, adjusts := p.Provider.(provider.Adjuster)
	planned := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(z.dirty)) {
		wanted, left := p.want(name)
		answer, ok := z.wanted[name]
		switch {
		case !p.admits(name):
			z.drop(name)
		case adjusts && len(wanted) > 0 && !ok:
			// It is asked about next.
			continue
		case adjusts:
			p.planName(z, name, answer.sets, left)
		default:
			p.planName(z, name, wanted, left)
		}
		planned[name] = true
		delete(z.wanted, name)
		if !answer.outdated {
			delete(z.dirty, name)
		}
	}
	overdrawn := p.overdrawn(z, now)
	for name, g := range z.budget.wanted {
		if z.postponed[name] != nil && z.postponed[name].until.After(now) && !planned[name] {
			continue
		}
		if overdrawn && !z.budget.permits(name) {
			g = g.withoutLosses()
		}
		z.queue.put(g)
	}
	p.Metrics.zone(z)
}

// drop removes what was planned for a name.
func (z *zone) drop(name string) {
	z.queue.put(group{name: name})
	z.budget.note(group{name: name})
	delete(z.gated, name)
}

// planName plans one name and queues its changes.
func (p *Publisher) planName(z *zone, name string, wanted []*dns.RecordSet, left []impossible) {
	if unmark := p.stillMarked(z, name); len(unmark) > 0 {
		z.budget.note(group{name: name})
		z.queue.put(group{name: name, orphans: unmark})
		return
	}
	n := z.mirror.node(name)
	out := plan.Name(n.current, wanted, &p.Rules)
	g := group{name: name}
	reason := ""
	for _, c := range out.Changes {
		if why := p.held(c, n.explained); why != "" {
			reason = why
		}
	}
	if reason == "" && p.complete() && !slices.ContainsFunc(out.Changes, loses) {
		z.mirror.explain(name)
	}
	delete(z.gated, name)
	if err := p.unmarkable(out.Changes); err != nil {
		p.postpone(z, group{name: name, changes: out.Changes}, err)
		z.budget.note(g)
		return
	}
	if reason != "" {
		z.gated[name] = struct{}{}
		p.Log.Debug("Hold back a change", "record", name, "reason", reason)
	} else {
		g.changes, g.orphans = out.Changes, p.orphans(z, name, out)
	}
	if len(out.Changes) == 0 {
		delete(z.stale, name)
		delete(z.postponed, name)
	}
	p.sayConflicts(z, name, wanted, left, out)
	z.queue.put(g)
	z.budget.note(g)
}

// marking is an owner that knows the name of a marker in advance.
type marking interface {
	// MarkerName returns the name of the marker of a record set, or "" if it has none.
	MarkerName(name, recordType string) string
}

// unmarkable returns an error if a record set is to be created whose marker the provider can't
// have.
func (p *Publisher) unmarkable(changes []dns.Change) error {
	o, ok := p.Owner.(marking)
	if !ok {
		return nil
	}
	for _, c := range changes {
		if c.Old != nil {
			continue
		}
		if marker := o.MarkerName(c.New.Name, c.New.Type); marker != "" && !p.zones.holds(dns.Canonical(marker)) {
			return outside(marker)
		}
	}
	return nil
}

// collector is an owner with markers in the zones that can tell when one is useless.
type collector interface {
	// Orphan reports whether a marker is ours and describes no record set that exists.
	Orphan(zone func(name string) []*dns.RecordSet, marker *dns.RecordSet) bool
	// Unmark returns the deletions of our markers of a record set.
	Unmark(zone owner.Lookup, r *dns.RecordSet) []dns.Change
}

// disown handles the record sets in z.attempts, of which it isn't known whether they were
// created. If the zone has a different record set of the same key, somebody else was faster.
// Then our marker has to go: it would make the record set ours.
func (p *Publisher) disown(z *zone) {
	c, ok := p.Owner.(collector)
	for name, attempts := range z.attempts {
		delete(z.attempts, name)
		if !ok {
			continue
		}
		var unmark []dns.Change
		for _, attempt := range last(attempts) {
			for _, there := range z.mirror.lookup(name) {
				if there.Key() == attempt.Key() && !dns.SameTargets(there.Targets, attempt.Targets) {
					unmark = append(unmark, c.Unmark(p.zones.lookup, there)...)
					break
				}
			}
		}
		if len(unmark) > 0 {
			z.disowned[name] = unmark
			z.dirty[name] = struct{}{}
		}
	}
}

// orphanListings is how many further listings must show that a marker describes nothing before
// it is deleted. Its record set may just be being created.
const orphanListings = 2

// orphans returns the deletions of markers that describe nothing. It returns none if something
// is about to be created under the name. Such markers may keep another owner from using the
// name.
func (p *Publisher) orphans(z *zone, name string, out plan.Outcome) []dns.Change {
	n := z.mirror.node(name)
	c, ok := p.Owner.(collector)
	if !ok || len(n.markers) == 0 || len(out.Changes) > 0 || p.Rules.Policy != plan.Sync || !p.complete() {
		delete(z.orphans, name)
		return nil
	}
	var changes []dns.Change
	for _, marker := range n.markers {
		if c.Orphan(p.zones.lookup, marker) {
			changes = append(changes, dns.Change{Old: marker})
		}
	}
	if seen := z.orphans[name]; len(changes) > 0 && seen < orphanListings {
		z.orphans[name] = seen
		return nil
	}
	delete(z.orphans, name)
	return changes
}

// countOrphans counts a listing for each orphaned marker, and has the names planned that have
// reached [orphanListings].
func (z *zone) countOrphans() {
	for name := range z.orphans {
		if z.orphans[name]++; z.orphans[name] >= orphanListings {
			z.dirty[name] = struct{}{}
		}
	}
}

// sayConflicts reports what is in the way of a name. It does so again only when the message
// changes.
func (p *Publisher) sayConflicts(z *zone, name string, wanted []*dns.RecordSet, left []impossible, out plan.Outcome) {
	p.Metrics.conflicts(name, out.Conflicts, p.Rules.Owner)
	message := ""
	for _, c := range out.Conflicts {
		message = obstacle(c)
	}
	for _, r := range out.Dropped {
		message = fmt.Sprintf("the %s record %s can't stand beside records of other types, so it is not published: ask for one or the other", r.Type, r.Name)
	}
	for _, i := range left {
		message, wanted = i.reason, []*dns.RecordSet{i.set}
	}
	if message == "" {
		delete(z.conflicts, name)
		return
	}
	if z.conflicts[name] == message {
		return
	}
	z.conflicts[name] = message
	p.Log.Warn("Can't publish a record", "record", name, "err", message)
	if len(wanted) > 0 {
		p.Notify(Notice{Objects: objectsOf(wanted), Record: wanted[0], Action: ActionFailed, Reason: ReasonConflict, Message: message})
	}
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
		return there + " belongs to the owner " + quote(foreign) + " and is left alone: use another name, or have that owner remove it"
	}
}
