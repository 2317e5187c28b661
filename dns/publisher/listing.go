package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

// listZones starts to list the zones of the provider if that is due.
func (p *Publisher) listZones(now time.Time) {
	l := &p.zoneList
	if l.busy || now.Before(l.due) || now.Before(p.throttledUntil) {
		return
	}
	l.busy = true
	p.startCall(nil, listTimeout, func(ctx context.Context) func() {
		var zones []dns.Zone
		err := p.limiter.Wait(ctx)
		if err == nil {
			zones, err = contained(p, func() ([]dns.Zone, error) { return p.Provider.Zones(ctx) })
		}
		var unlisted error
		if lister, ok := p.Provider.(provider.PartialLister); ok && err == nil {
			unlisted = lister.Unlisted()
		}
		var filter dns.Filter
		if f, ok := p.Provider.(provider.DomainFilterer); ok && err == nil {
			filter = f.DomainFilter(ctx)
		}
		return func() {
			if err == nil {
				p.noteUnlisted(unlisted)
			}
			p.listedZones(zones, filter, err)
		}
	})
}

// noteUnlisted sets why the list of zones may be incomplete; nil if it is complete. A name in none
// of the listed zones may be in an unlisted one.
func (p *Publisher) noteUnlisted(unlisted error) {
	if unlisted != nil {
		p.Metrics.registryErrors.Inc()
		if p.once != nil {
			p.once.fail(unlisted)
		}
	}
	before := p.zoneList.unlisted
	if p.zoneList.unlisted = unlisted; errorText(before) == errorText(unlisted) {
		return
	}
	if unlisted != nil {
		p.Notify(Notice{Action: ActionFailed, Reason: ReasonProvider, Message: "list the zones: " + unlisted.Error()})
	}
	again := p.unzoned
	p.unzoned = map[string]string{}
	for name := range again {
		p.touch(name)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (p *Publisher) listedZones(zones []dns.Zone, filter dns.Filter, err error) {
	l := &p.zoneList
	l.busy = false
	defer func() { p.Metrics.totals(p.zones.all(), l) }()
	if errors.Is(err, provider.ErrThrottled) {
		p.pauseCalls(err)
	}
	if err != nil {
		p.operationFailed(&l.retryState, "list the zones", err)
		l.due = l.retryAt
		return
	}
	p.operationSucceeded(&l.retryState, "list the zones")
	l.due = time.Now().Add(max(p.Interval, p.Limits.ZonesCache))
	p.setZones(zones, filter)
	if p.settled() {
		p.Metrics.lastReconcile.SetToCurrentTime()
		p.Metrics.lastSync.SetToCurrentTime()
	}
}

// settled reports whether all zones are known to have all wanted record sets.
func (p *Publisher) settled() bool {
	for _, z := range p.zones.all() {
		if !z.upToDate || z.listingUnplanned || z.busy || z.reading.err != nil || z.names.count(dirty, asking, planned, applying) > 0 {
			return false
		}
	}
	return p.sourcesEvaluated
}

// setZones replaces the list of zones. Zones that are still listed keep their state, except those
// that hold other names than before because a parent or child zone was added or removed: these are
// read again. Names move to the zones that hold them now.
func (p *Publisher) setZones(zones []dns.Zone, filter dns.Filter) {
	before := p.zones
	changed := map[string]bool{}
	next := make(map[dns.ZoneKey]*zone, len(zones))
	for _, z := range zones {
		kept := before.all()[z.Key()]
		if kept == nil || kept.Private != z.Private {
			changed[dns.Canonical(z.Name)] = true
			kept = p.newZone(z)
		} else if kept.version != z.Version {
			kept.version, kept.verifyAt = z.Version, time.Time{}
		}
		next[z.Key()] = kept
	}
	if len(changed) > 0 || before == nil || len(next) != len(before.byKey) {
		p.zonesChange++
	}
	p.zones = newZoneSet(next, filter, p.Owner)
	p.zones.change = p.zonesChange
	if before == nil || len(changed) > 0 {
		p.resetFollowers()
	}
	for _, z := range before.all() {
		if !p.zones.has(z) {
			changed[dns.Canonical(z.Name)] = true
			p.Metrics.forget(z)
			// A zone that comes back has the same ledger, so a batch that is still running must not note its
			// changes there.
			z.names.note = noMetrics
		}
	}
	p.retainBudgets(zones)
	p.refilter(before)
	if before != nil && len(changed) == 0 {
		return
	}
	for _, z := range p.zones.idle() {
		p.Log.Warn("A zone gets no records, because the registry can't distinguish its records from those of another zone with the same names: use --registry=txt, or choose one with a zone filter", "zone", z.Name, "id", z.ID)
	}
	for _, z := range p.zones.all() {
		if before.has(z) && related(dns.Canonical(z.Name), changed) {
			z.reset()
		}
	}
	for name := range p.Desired.Names() {
		if _, concerned := dns.ClosestZone(changed, name); concerned || before == nil {
			p.touch(name)
		}
	}
	maps.DeleteFunc(p.unzoned, func(name, _ string) bool { return len(p.zones.zonesFor(name)) > 0 })
}

// refilter plans the names again that the provider's filter selects now and didn't before, and those
// that it selects no more.
func (p *Publisher) refilter(before *zoneSet) {
	if before == nil || reflect.DeepEqual(before.filter, p.zones.filter) {
		return
	}
	differs := func(name string) bool { return before.admits(name) != p.zones.admits(name) }
	for name := range p.Desired.Names() {
		if differs(name) {
			p.touch(name)
		}
	}
	for _, z := range p.zones.all() {
		z.unselectedLogged = false
		for name, n := range z.mirror.names {
			if n.owned > 0 && differs(name) {
				z.names.touch(name)
			}
		}
	}
}

// related reports whether a zone is a parent or child of one of zones, or has the same name.
func related(apex string, zones map[string]bool) bool {
	if _, above := dns.ClosestZone(zones, apex); above {
		return true
	}
	for other := range zones {
		if apex == "" || strings.HasSuffix(other, "."+apex) {
			return true
		}
	}
	return false
}

// listRecords starts to read a zone.
func (p *Publisher) listRecords(z *zone) {
	z.busy = true
	z.mirror.begin()
	unknownOutcomes, zones := z.unknownOutcomes, p.zones
	begun := time.Now()
	p.startCall(z, listTimeout, func(ctx context.Context) func() {
		records, err := p.read(ctx, z)
		var found difference
		if err == nil {
			p.Log.Debug("Zone is listed", "zone", z.Name, "records", len(records), "took", time.Since(begun))
			found = z.mirror.compare(records)
			err = found.err
		}
		if err == nil {
			p.observe(ctx, zones.listing(z, records))
		}
		known := p.changedOwnership()
		return func() {
			p.listedRecords(z, found, unknownOutcomes, err)
			p.relabel(known)
		}
	})
}

// read reads a zone, and the registry if that is outside of the zones. It is called outside of the
// loop.
func (p *Publisher) read(ctx context.Context, z *zone) ([]*dns.RecordSet, error) {
	if err := p.Owner.Load(ctx); err != nil {
		return nil, err
	}
	return contained(p, func() ([]*dns.RecordSet, error) { return p.Provider.Records(ctx, z.Zone) })
}

// observe passes the listing of a zone to a registry outside of the zones.
func (p *Publisher) observe(ctx context.Context, l owner.Listing) {
	if o, ok := p.Owner.(owner.Outside); ok && !p.DryRun && p.MayWrite() == nil {
		o.Listed(ctx, l)
	}
}

// listedRecords is called in the loop with the result of a listing. unknownOutcomes is the zone's
// count at the start of the listing.
func (p *Publisher) listedRecords(z *zone, found difference, unknownOutcomes int, err error) {
	z.busy = false
	p.Metrics.lastReconcile.SetToCurrentTime()
	if errors.Is(err, provider.ErrThrottled) {
		p.pauseCalls(err)
		return
	}
	defer p.measure(z)
	if err != nil {
		p.operationFailed(&z.reading, "read zone "+cmp.Or(z.Name, "."), err)
		return
	}
	p.throttles = 0
	p.operationSucceeded(&z.reading, "read zone "+cmp.Or(z.Name, "."))
	if !p.zones.has(z) || unknownOutcomes != z.unknownOutcomes {
		// The zone is read again.
		return
	}
	vanished := p.vanished(z, found)
	later := z.mirror.written
	before := z.mirror.relist(found)
	first := !z.listed
	z.upToDate, z.listed, z.listingUnplanned, z.readAt = true, true, true, time.Now()
	if first {
		p.resetFollowers()
	}
	z.verifyAt = time.Now().Add(p.untilNext(first))
	p.refresh(z, before)
	for name, sets := range vanished {
		z.names.vanish(name, sets)
	}
	p.confirmOwnershipGone(z, later)
	p.disown(z)
	z.names.shown(later, p.capabilities.Blind)
	z.names.listed()
	z.names.askAgain()
}

// vanished returns our record sets, by name, that a listing doesn't show any more.
func (p *Publisher) vanished(z *zone, found difference) map[string][]*dns.RecordSet {
	gone := map[string][]*dns.RecordSet{}
	for name, now := range found.names {
		for _, c := range p.current(z, name) {
			same := func(r *dns.RecordSet) bool {
				return r.Key() == c.Set.Key() && dns.SameTargets(r.Targets, c.Set.Targets)
			}
			if c.Set.Labels[dns.LabelOwner] == p.Owner.ID() && !slices.ContainsFunc(now, same) {
				gone[name] = append(gone[name], c.Set)
			}
		}
	}
	return gone
}

// measure sets the metrics of a zone, if it still exists, and of all zones.
func (p *Publisher) measure(z *zone) {
	if p.zones.has(z) {
		p.Metrics.zone(z)
	}
	p.Metrics.totals(p.zones.all(), &p.zoneList)
}

// untilNext returns how long a listing of a zone is used. If zones have to wait for each other,
// their next listings are spread over that time.
func (p *Publisher) untilNext(first bool) time.Duration {
	switch {
	case len(p.zones.all()) <= p.maxConcurrentCalls:
		return p.listingTime
	case first:
		return p.listingTime/2 + rand.N(p.listingTime/2)
	default:
		return p.listingTime - rand.N(p.listingTime/10+1)
	}
}

// refresh is called after the records of some names have changed; before has the earlier ones. It
// computes the ownership of these names, and of the names that ownership records among them
// describe, and plans all of them.
func (p *Publisher) refresh(z *zone, before map[string][]*dns.RecordSet) {
	type place struct {
		z    *zone
		name string
	}
	affected := map[place]struct{}{}
	for name, gone := range before {
		affected[place{z, name}] = struct{}{}
		added := z.mirror.lookup(name)
		p.tally(z, gone, -1)
		p.tally(z, added, +1)
		for described, m := range p.described(gone, added) {
			for _, holder := range p.zones.zonesFor(described) {
				if p.zones.owningZone(holder, name) == z {
					holder.mirror.setOwnership(described, m.removed, m.added)
					affected[place{holder, described}] = struct{}{}
				}
			}
		}
	}
	p.unverified = p.unverified || len(affected) > 0
	for a := range maps.Clone(affected) {
		// The plan of a name may depend on its twin.
		if twin := p.twin(a.name); twin != "" && a.z.names.all[twin] != nil {
			affected[place{a.z, twin}] = struct{}{}
		}
	}
	changedHands := map[*zone]bool{}
	for a := range affected {
		before, now := a.z.mirror.node(a.name).holder, p.holdings(a.z, a.name)
		if a.z.mirror.setHoldings(a.name, now); now.holder != nobody {
			a.z.shares.release(a.name)
		}
		if p.concerns(a.z, a.name) {
			a.z.names.differ(a.name)
		}
		if before != now.holder {
			changedHands[a.z] = true
			p.touchDependents(a.name)
		}
	}
	for in := range changedHands {
		p.readmit(in)
	}
}

// concerns reports whether a changed name of a zone needs a plan. In a zone with many records of
// other owners, most names never do.
func (p *Publisher) concerns(z *zone, name string) bool {
	if !p.zones.holds(z, name) {
		return false
	}
	n := z.mirror.node(name)
	return n.owned > 0 || len(n.ownership) > 0 || z.names.all[name] != nil || len(p.Desired.OriginsOf(name)) > 0
}

// current returns the record sets of a zone under a name, without ownership records, with the
// labels of the registry.
func (p *Publisher) current(z *zone, name string) []plan.Current {
	raw := z.mirror.lookup(name)
	current := make([]plan.Current, 0, len(raw))
	for _, r := range raw {
		if p.isOwnershipRecord(r) {
			continue
		}
		labels, rewrite := p.Owner.Labels(p.zones.lookup(z), r)
		current = append(current, plan.Current{Set: withLabels(r, labels), RewriteOwnership: rewrite})
	}
	return current
}

// holdings returns who has the record sets under a name. A record set that the listing of a parent
// zone shows in a child zone isn't ours.
func (p *Publisher) holdings(z *zone, name string) (h holdings) {
	current, holds := p.current(z, name), p.zones.holds(z, name)
	rules := plan.Rules{Owner: p.Owner.ID(), Instance: p.Rules.Instance}
	for _, c := range current {
		if h.plain++; !holds {
			continue
		}
		if rules.Owns(c.Set) {
			h.owned++
		}
		if instance := p.otherInstance(c.Set); instance != "" {
			z.otherOwners.example = fmt.Sprintf("%s %s of the instance %s", c.Set.Name, c.Set.Type, quote(instance))
			h.otherInstances++
		}
	}
	if holds {
		h.holder = p.holderIn(current)
	}
	return h
}

// tally adds record sets to the counters of a zone, or subtracts them.
func (p *Publisher) tally(z *zone, sets []*dns.RecordSet, sign int) {
	for _, r := range sets {
		if !p.isOwnershipRecord(r) {
			z.mirror.records[r.Type] += sign
		}
	}
}

// changedOwnership returns the names whose ownership has changed in a registry outside of the
// zones.
func (p *Publisher) changedOwnership() []string {
	if o, ok := p.Owner.(owner.Outside); ok {
		return o.Changed()
	}
	return nil
}

// relabel computes the ownership of some names again.
func (p *Publisher) relabel(names []string) {
	for _, name := range names {
		for _, z := range p.zones.zonesFor(name) {
			p.refresh(z, map[string][]*dns.RecordSet{name: z.mirror.lookup(name)})
		}
	}
}

// ownershipChange are the ownership records of a name that were removed and added.
type ownershipChange struct{ removed, added []*dns.RecordSet }

// described returns the names that the given ownership records describe, with these records.
func (p *Publisher) described(gone, added []*dns.RecordSet) map[string]ownershipChange {
	found := map[string]ownershipChange{}
	for i, r := range slices.Concat(gone, added) {
		names, _ := p.Owner.OwnershipRecord(r)
		for _, name := range names {
			m := found[name]
			if i < len(gone) {
				m.removed = append(m.removed, r)
			} else {
				m.added = append(m.added, r)
			}
			found[name] = m
		}
	}
	return found
}
