package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// patience is how many times in a row a batch may fail with an unknown outcome. After that, if
// it has only one name left, the name is taken to be the cause.
const patience = 3

// errRefused is the error of changes that the owner refuses. The owner itself reports the
// reason.
var errRefused = errors.New("the ownership record can't be written: see the reason in the log or in another Event")

// batch is what one job applies: groups of one zone, and the changes of their markers. Markers
// may be in other zones.
type batch struct {
	groups []group
	parts  []part
	// refused are the changes of record sets that belong to somebody else.
	refused []dns.Change
	// applied are the changes that were made; errs has an error for each name that failed.
	applied []dns.Change
	errs    map[string]error
	// err is an error of the whole batch.
	err error
}

// part is the changes of a batch in one zone.
type part struct {
	zone    *zone
	changes []dns.Change
	// names has the name of its group for each change.
	names []string
}

// apply starts to apply the groups at the head of the queue.
func (p *Publisher) apply(z *zone) {
	groups := z.queue.take(z.limit, p.batchSize)
	if len(groups) == 0 {
		return
	}
	if p.DryRun {
		p.propose(z, groups)
		return
	}
	z.busy = true
	zones := p.zones
	p.startWrite(cmp.Or(p.capabilities.BatchTime, applyTimeout), func(ctx context.Context) func() {
		b := &batch{groups: groups, errs: map[string]error{}}
		if b.err = p.MayWrite(); b.err == nil {
			p.applyBatch(ctx, zones, z, b)
		}
		known := p.knownAnew()
		return func() {
			defer p.relabel(known)
			z.applyAt = time.Now().Add(p.batchInterval)
			p.applied(z, b)
		}
	})
}

// propose records the changes that a dry run doesn't make.
func (p *Publisher) propose(z *zone, groups []group) {
	for _, g := range groups {
		z.proposed[g.name] = g
		for _, c := range append(slices.Clone(g.changes), g.orphans...) {
			p.Log.Info("Would change a record", "zone", z.Name, "change", describe(c))
		}
	}
}

// describe returns a change as text for people.
func describe(c dns.Change) string {
	r := c.RecordSet()
	text := fmt.Sprintf("%s %s %v", r.Name, r.Type, r.Targets)
	if r.SetIdentifier != "" {
		text += " (" + r.SetIdentifier + ")"
	}
	switch {
	case c.Old == nil:
		return "create " + text
	case c.New == nil:
		return "delete " + text
	default:
		return fmt.Sprintf("update %s, was %v", text, c.Old.Targets)
	}
}

// applyBatch applies a batch. It is called outside of the loop.
func (p *Publisher) applyBatch(ctx context.Context, zones *zoneSet, z *zone, b *batch) {
	var changes []dns.Change
	for _, g := range b.groups {
		changes = append(changes, g.changes...)
	}
	send, refused, err := p.Owner.Before(ctx, zones.lookup, changes)
	if err != nil {
		b.err = fmt.Errorf("claim records: %w", err)
		return
	}
	b.refused = refused
	p.divide(zones, z, b, send)
	if b.err = p.adjustMarkers(ctx, b); b.err != nil {
		return
	}
	for i := range b.parts {
		p.applyPart(ctx, b, &b.parts[i])
		if b.err != nil {
			break
		}
	}
	if len(b.applied) == 0 {
		return
	}
	if err := p.Owner.After(ctx, b.applied); err != nil && b.err == nil {
		b.err = fmt.Errorf("tell the owner what was applied: %w", err)
	}
}

// applyPart has the provider apply a part, and records which changes were made.
func (p *Publisher) applyPart(ctx context.Context, b *batch, part *part) {
	begun := time.Now()
	err := p.Provider.Apply(ctx, part.zone.Zone, part.changes)
	p.Metrics.applied(part.zone, time.Since(begun), err)
	if o, ok := p.Owner.(owner.Told); ok && err != nil {
		o.Failed(ctx, part.changes, err)
	}
	var each *provider.ApplyError
	switch {
	case err == nil:
		b.applied = append(b.applied, part.changes...)
	case errors.As(err, &each) && len(each.Errs) == len(part.changes):
		for i, c := range part.changes {
			if each.Errs[i] == nil {
				b.applied = append(b.applied, c)
			} else if b.errs[part.names[i]] == nil {
				b.errs[part.names[i]] = each.Errs[i]
			}
		}
	default:
		b.err = err
	}
}

// applied is called in the loop with the outcome of a batch.
func (p *Publisher) applied(z *zone, b *batch) {
	z.busy = false
	p.writeThrough(b)
	for _, c := range b.refused {
		if name := c.RecordSet().Key().Name; b.errs[name] == nil {
			b.errs[name] = errRefused
		}
	}
	switch {
	case b.err == nil:
		p.throttles = 0
		p.untroubled(&z.writing, "apply changes in zone "+z.Name)
		if z.limit > 0 {
			if z.limit *= 2; z.limit >= defaultBatch {
				z.limit = 0
			}
		}
		p.conclude(z, b)
	case errors.Is(b.err, provider.ErrRejected):
		p.conclude(z, b)
		p.halve(z, b)
	case errors.Is(b.err, provider.ErrStale):
		p.conclude(z, b)
		p.stale(z, b)
	case errors.Is(b.err, provider.ErrThrottled):
		p.conclude(z, b)
		p.throttle(b.err)
		p.again(z, b)
	default:
		p.doubt(z, b)
		if len(b.groups) == 1 && z.writing.failures >= patience && !errors.Is(b.err, provider.ErrCredentials) {
			p.postpone(z, b.groups[0], b.err)
		} else {
			p.again(z, b)
		}
		p.troubled(&z.writing, "apply changes in zone "+z.Name, b.err)
		p.Metrics.zone(z)
	}
}

// doubt is called when nobody knows what was applied: the zones are read before anything else
// is done. The next batch is smaller, in case a single record makes the provider fail.
func (p *Publisher) doubt(z *zone, b *batch) {
	if errors.Is(b.err, provider.ErrCredentials) {
		return
	}
	z.known = false
	for _, part := range b.parts {
		part.zone.known = false
	}
	for _, g := range b.groups {
		z.attempt(g)
	}
	if len(b.groups) > 1 {
		z.limit = (len(b.groups) + 1) / 2
	}
}

// attempt notes the record sets that a group was to create.
func (z *zone) attempt(g group) {
	for _, c := range g.changes {
		if c.Old == nil {
			z.attempts[g.name] = append(z.attempts[g.name], c.New)
		}
	}
}

// writeThrough makes the applied changes in the mirrors.
func (p *Publisher) writeThrough(b *batch) {
	before := map[*zone]map[string][]*dns.RecordSet{}
	for _, c := range b.applied {
		z := p.zones.zoneOf(c.RecordSet().Key().Name)
		if z == nil {
			continue
		}
		name, was := z.mirror.write(c)
		if before[z] == nil {
			before[z] = map[string][]*dns.RecordSet{}
		}
		if _, known := before[z][name]; !known {
			before[z][name] = was
		}
	}
	for z, names := range before {
		p.refresh(z, names)
	}
}

// conclude reports the changes that were made, and postpones the names that failed.
func (p *Publisher) conclude(z *zone, b *batch) {
	now := time.Now()
	for _, g := range b.groups {
		switch err := b.errs[g.name]; {
		case errors.Is(err, provider.ErrThrottled):
			p.throttle(err)
			z.dirty[g.name] = struct{}{}
		case err != nil:
			// The marker may have been created without its record.
			z.attempt(g)
			if errors.Is(err, provider.ErrStale) && z.planAnew(g.name) {
				continue
			}
			p.postpone(z, g, err)
		case b.err == nil:
			delete(z.postponed, g.name)
			delete(z.stale, g.name)
			z.budget.spend(now, g)
			p.succeeded(g)
		}
	}
	p.Metrics.lastSync.SetToCurrentTime()
	p.Metrics.zone(z)
}

func (p *Publisher) succeeded(g group) {
	for _, c := range g.changes {
		n := Notice{Record: c.RecordSet(), Objects: c.RecordSet().Objects, Reason: ReasonReady, Action: ActionUpdated}
		switch {
		case c.Old == nil:
			n.Action = ActionCreated
		case c.New == nil:
			n.Action, n.Reason = ActionDeleted, ReasonDeleted
		}
		p.Log.Info("Changed a record", "change", describe(c))
		p.Notify(n)
	}
}

// halve has a rejected batch tried again in halves, until the rejected name is alone.
func (p *Publisher) halve(z *zone, b *batch) {
	p.Metrics.registryErrors.Inc()
	if len(b.groups) == 1 {
		if b.errs[b.groups[0].name] != nil {
			return
		}
		p.postpone(z, b.groups[0], b.err)
		return
	}
	z.limit = (len(b.groups) + 1) / 2
	p.again(z, b)
}

// planAnew has a name planned again whose changes were out of date, after the zone was read. If
// the last ones were, too, it reports false: then there is something that listings don't show.
func (z *zone) planAnew(name string) bool {
	if _, twice := z.stale[name]; twice {
		return false
	}
	z.stale[name] = struct{}{}
	z.known = false
	z.dirty[name] = struct{}{}
	return true
}

// stale has a batch planned again that is out of date as a whole. After the second time it is
// halved, so that a name for which that goes on doesn't stop the others.
func (p *Publisher) stale(z *zone, b *batch) {
	for _, part := range b.parts {
		part.zone.known = false
	}
	for _, g := range b.groups {
		if b.errs[g.name] != nil {
			continue
		}
		z.attempt(g)
		switch first := z.planAnew(g.name); {
		case first:
		case len(b.groups) > 1:
			z.limit = (len(b.groups) + 1) / 2
			z.applyAt = time.Now().Add(firstBackoff)
			z.dirty[g.name] = struct{}{}
			delete(z.stale, g.name)
		default:
			p.postpone(z, g, b.err)
		}
	}
}

// again has the names of a batch planned again, except those that have an error of their own.
func (p *Publisher) again(z *zone, b *batch) {
	for _, g := range b.groups {
		if b.errs[g.name] == nil {
			z.dirty[g.name] = struct{}{}
		}
	}
}

// postpone lets a name wait after a failure, longer after each one, and reports the error.
func (p *Publisher) postpone(z *zone, g group, err error) {
	j := z.postponed[g.name]
	if j == nil {
		j = &postponed{}
		z.postponed[g.name] = j
	}
	j.until = time.Now().Add(backoff(j.failures, p.Interval))
	if errors.Is(err, provider.ErrStale) {
		z.known = false
	}
	if j.failures++; j.failures == 1 {
		// The mirror may be out of date, so the zone is read again soon.
		z.verifyAt = earliest(z.verifyAt, time.Now().Add(p.Interval/10))
	}
	if p.once != nil && !errors.Is(err, errOutside) {
		p.once.fail(fmt.Errorf("%s: %w", g.name, err))
	}
	delete(z.dirty, g.name)
	z.queue.put(group{name: g.name})
	if j.message == err.Error() {
		return
	}
	j.message = err.Error()
	for _, c := range g.changes {
		p.Log.Error("Can't change a record; trying again later", "zone", z.Name, "change", describe(c), "err", err)
		p.Notify(Notice{Record: c.RecordSet(), Objects: c.RecordSet().Objects, Action: ActionFailed, Reason: ReasonError, Message: err.Error()})
	}
}
