package publisher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

// adjust asks a provider that can't store everything what it makes of what is asked for
// under the dirty names, and reports whether that is under way now.
func (p *Publisher) adjust(z *zone) bool {
	adjuster, ok := p.Provider.(provider.Adjuster)
	if !ok {
		return false
	}
	var ask []*dns.RecordSet
	var names []string
	for name := range z.dirty {
		if _, known := z.wanted[name]; known || !p.admits(name) {
			continue
		}
		names = append(names, name)
		ask = append(ask, p.Desired.Want(name)...)
	}
	if len(names) == 0 {
		return false
	}
	z.busy = true
	p.startWrite(applyTimeout, func(ctx context.Context) func() {
		var got []*dns.RecordSet
		var err error
		if len(ask) > 0 {
			got, err = adjuster.Adjust(ctx, ask)
		}
		return func() { p.adjusted(z, names, got, err) }
	})
	// A name that is touched meanwhile loses its entry, and is asked about again.
	for _, name := range names {
		z.wanted[name] = nil
	}
	return true
}

func (p *Publisher) adjusted(z *zone, names []string, got []*dns.RecordSet, err error) {
	z.busy = false
	if err != nil {
		for _, name := range names {
			delete(z.wanted, name)
		}
		p.troubled(&z.writing, "adjust what is wanted in zone "+z.Name, err)
		return
	}
	asked := map[string]bool{}
	for _, name := range names {
		// A name that was touched meanwhile has lost its entry.
		_, asked[name] = z.wanted[name]
	}
	for _, r := range got {
		if name := dns.Canonical(r.Name); asked[name] {
			z.wanted[name] = append(z.wanted[name], r)
		}
	}
}

// unique returns the last record set of each key.
func unique(records []*dns.RecordSet) []*dns.RecordSet {
	last := map[dns.Key]*dns.RecordSet{}
	for _, r := range records {
		last[r.Key()] = r
	}
	return slices.Collect(maps.Values(last))
}

// stillMarked returns the deletions of markers under a name that are somebody else's, of those
// that have not been made yet.
func (p *Publisher) stillMarked(z *zone, name string) []dns.Change {
	var left []dns.Change
	for _, c := range z.disowned[name] {
		key := c.Old.Key()
		there := p.land.lookup(key.Name)
		if i := slices.IndexFunc(there, func(r *dns.RecordSet) bool { return r.Key() == key }); i >= 0 && sameTexts(there[i].Targets, c.Old.Targets) {
			left = append(left, dns.Change{Old: there[i]})
		}
	}
	if len(left) == 0 {
		delete(z.disowned, name)
	}
	return left
}

// admits reports whether the user and the provider want a name managed.
func (p *Publisher) admits(name string) bool {
	return p.Domains.Match(name) && (p.land.filter == nil || p.land.filter.Match(name))
}

// planDirty plans the dirty names of a zone, and queues what is to be changed.
func (p *Publisher) planDirty(z *zone, now time.Time) {
	_, adjusts := p.Provider.(provider.Adjuster)
	names := slices.Sorted(maps.Keys(z.dirty))
	for _, name := range names {
		wanted, ok := z.wanted[name]
		switch {
		case !p.admits(name):
			z.drop(name)
		case adjusts && !ok:
			// It was touched while it was being adjusted, and is asked about next.
			continue
		case adjusts:
			p.planName(z, name, wanted)
		default:
			p.planName(z, name, p.Desired.Want(name))
		}
		delete(z.dirty, name)
		delete(z.wanted, name)
	}
	overdrawn := p.overdrawn(z, now)
	for name, g := range z.budget.wanted {
		_, planned := slices.BinarySearch(names, name)
		if z.jail[name] != nil && z.jail[name].until.After(now) && !planned {
			continue
		}
		if overdrawn && !z.budget.permits(name) {
			g = g.withoutLosses()
		}
		z.queue.put(g)
	}
	p.Metrics.zone(z)
}

// drop forgets what was planned for a name.
func (z *zone) drop(name string) {
	z.queue.put(group{name: name})
	z.budget.note(group{name: name})
	delete(z.gated, name)
}

// planName plans one name and queues what is to be changed.
func (p *Publisher) planName(z *zone, name string, wanted []*dns.RecordSet) {
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
		if why := p.held(c); why != "" {
			reason = why
		}
	}
	delete(z.gated, name)
	if err := p.unmarkable(out.Changes); err != nil {
		p.imprison(z, group{name: name, changes: out.Changes}, err)
		z.budget.note(g)
		return
	}
	if reason != "" {
		z.gated[name] = struct{}{}
		p.Log.Debug("Hold back a change", "record", name, "reason", reason)
	} else {
		g.changes, g.orphans = out.Changes, p.orphans(z, name, out)
	}
	p.sayConflicts(z, name, wanted, out)
	z.queue.put(g)
	z.budget.note(g)
}

// marking is an owner whose markers have names that are known beforehand.
type marking interface {
	// MarkerName returns the name of the marker of a record set, "" for none.
	MarkerName(name, recordType string) string
}

// unmarkable returns why what is to be created can't be owned, nil if it can: its marker would
// be where the provider can't have it.
func (p *Publisher) unmarkable(changes []dns.Change) error {
	o, ok := p.Owner.(marking)
	if !ok {
		return nil
	}
	for _, c := range changes {
		if c.Old != nil {
			continue
		}
		if marker := o.MarkerName(c.New.Name, c.New.Type); marker != "" && !p.land.holds(dns.Canonical(marker)) {
			return outside(marker)
		}
	}
	return nil
}

// collector is an owner whose markers are in the zones, and who knows when one is of no use.
type collector interface {
	// Orphan reports whether a marker is ours and describes nothing that exists.
	Orphan(zone func(name string) []*dns.RecordSet, marker *dns.RecordSet) bool
	// Unmark returns the deletions of our markers of a record set.
	Unmark(zone owner.Lookup, r *dns.RecordSet) []dns.Change
}

// disown looks at what is there under names where record sets were to be created, and it isn't
// known whether they were. If there is another one, somebody else was faster: a marker of
// ours would make it ours.
func (p *Publisher) disown(z *zone) {
	c, ok := p.Owner.(collector)
	for name, attempts := range z.attempts {
		delete(z.attempts, name)
		if !ok {
			continue
		}
		var unmark []dns.Change
		for _, attempt := range unique(attempts) {
			for _, there := range z.mirror.lookup(name) {
				if there.Key() == attempt.Key() && !dns.SameTargets(there.Targets, attempt.Targets) {
					unmark = append(unmark, c.Unmark(p.land.lookup, there)...)
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

// orphanage is how many further listings must show that a marker describes nothing before it
// is deleted: it may be that its record is just being made.
const orphanage = 2

// orphans returns the deletions of markers that describe nothing, and that nothing is about
// to be made for: another owner may be waiting for the name.
func (p *Publisher) orphans(z *zone, name string, out plan.Outcome) []dns.Change {
	n := z.mirror.node(name)
	c, ok := p.Owner.(collector)
	if !ok || len(n.markers) == 0 || len(out.Changes) > 0 || p.Rules.Policy != plan.Sync || !p.complete() {
		delete(z.orphans, name)
		return nil
	}
	var changes []dns.Change
	for _, marker := range n.markers {
		if c.Orphan(p.land.lookup, marker) {
			changes = append(changes, dns.Change{Old: marker})
		}
	}
	if seen := z.orphans[name]; len(changes) > 0 && seen < orphanage {
		z.orphans[name] = seen
		return nil
	}
	delete(z.orphans, name)
	return changes
}

// countOrphans notes that another listing shows the same, and has names planned that have
// waited long enough.
func (z *zone) countOrphans() {
	for name := range z.orphans {
		if z.orphans[name]++; z.orphans[name] >= orphanage {
			z.dirty[name] = struct{}{}
		}
	}
}

// sayConflicts reports who keeps a name from us, once as long as it stays the same.
func (p *Publisher) sayConflicts(z *zone, name string, wanted []*dns.RecordSet, out plan.Outcome) {
	p.Metrics.conflicts(name, out.Conflicts, p.Rules.Owner)
	message := ""
	for _, c := range out.Conflicts {
		message = obstacle(c)
	}
	for _, r := range out.Dropped {
		message = fmt.Sprintf("%s %s can't be beside records of other types: it is left out", r.Type, r.Name)
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

// obstacle says what keeps a record set from being as it is asked for.
func obstacle(c plan.Conflict) string {
	there := fmt.Sprintf("%s %s, which is there,", c.Current.Name, c.Current.Type)
	switch foreign := c.ForeignOwner(); {
	case c.Obstacle == plan.NotDeletable:
		return there + " is in the way and may not be deleted under the policy: delete it, or use the policy sync"
	case foreign == "":
		return there + " is owned by nobody known, so it is not touched: remove it, or give it an ownership record"
	default:
		return there + " is owned by " + quote(foreign) + ", so it is not touched: use another name, or remove it there"
	}
}
