package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// patience is how often in a row a batch may fail until its last name is taken to be the cause.
const patience = 3

// errRefused is for changes that the owner returns; it says why by itself.
var errRefused = errors.New("it can't be made ours; the log, and another Event, say why")

// batch is what one job applies: groups of one zone, and the markers that go with them,
// some of which may be in other zones.
type batch struct {
	groups []group
	parts  []part
	// refused are the changes that turned out to be somebody else's.
	refused []dns.Change
	// applied are the changes that were made; errs has an entry for each name that failed.
	applied []dns.Change
	errs    map[string]error
	// err is about the batch as a whole.
	err error
}

// part is the changes of a batch in one zone.
type part struct {
	zone    *zone
	changes []dns.Change
	// names has, for each change, the name of its group.
	names []string
}

// apply starts to apply the head of the queue.
func (p *Publisher) apply(z *zone) {
	size, interval := defaultBatch, time.Duration(0)
	if b, ok := p.Provider.(provider.Batcher); ok {
		size, interval = b.Batch()
	}
	groups := z.queue.take(z.limit, size)
	if len(groups) == 0 {
		return
	}
	if p.DryRun {
		p.propose(z, groups)
		return
	}
	z.busy = true
	land := p.land
	p.startWrite(applyTimeout, func(ctx context.Context) func() {
		b := &batch{groups: groups, errs: map[string]error{}}
		if b.err = p.MayWrite(); b.err == nil {
			p.applyBatch(ctx, land, z, b)
		}
		known := p.knownAnew()
		return func() {
			defer p.relabel(known)
			z.applyAt = time.Now().Add(interval)
			p.applied(z, b)
		}
	})
}

// propose notes what a dry run leaves alone.
func (p *Publisher) propose(z *zone, groups []group) {
	for _, g := range groups {
		z.proposed[g.name] = g
		for _, c := range append(slices.Clone(g.changes), g.orphans...) {
			p.Log.Info("Would change a record", "zone", z.Name, "change", describe(c))
		}
	}
}

// describe says what a change is, for a person.
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

// applyBatch runs beside the loop.
func (p *Publisher) applyBatch(ctx context.Context, land *territory, z *zone, b *batch) {
	var changes []dns.Change
	for _, g := range b.groups {
		changes = append(changes, g.changes...)
	}
	send, refused, err := p.Owner.Before(ctx, land.lookup, changes)
	if err != nil {
		b.err = fmt.Errorf("claim records: %w", err)
		return
	}
	b.refused = refused
	p.divide(land, z, b, send)
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
		b.err = fmt.Errorf("note what was applied: %w", err)
	}
}

// applyPart gives the changes of a part to the provider, and sorts out what became of them.
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

// applied takes up in the loop what became of a batch.
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
	default:
		p.doubt(z, b)
		if len(b.groups) == 1 && z.writing.failures >= patience && !errors.Is(b.err, provider.ErrCredentials) {
			p.imprison(z, b.groups[0], b.err)
		} else {
			p.again(z, b)
		}
		p.troubled(&z.writing, "apply changes in zone "+z.Name, b.err)
		p.Metrics.zone(z)
	}
}

// doubt has zones read before anything else is done, when nobody knows what was applied. The
// next batch is smaller, in case it is one record that the provider can't cope with.
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

// attempt notes what a group was to create.
func (z *zone) attempt(g group) {
	for _, c := range g.changes {
		if c.Old == nil {
			z.attempts[g.name] = append(z.attempts[g.name], c.New)
		}
	}
}

// writeThrough makes the mirrors show what was applied.
func (p *Publisher) writeThrough(b *batch) {
	before := map[*zone]map[string][]*dns.RecordSet{}
	for _, c := range b.applied {
		z := p.land.zoneOf(c.RecordSet().Key().Name)
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

// conclude reports what was applied, and has the names wait that failed by themselves.
func (p *Publisher) conclude(z *zone, b *batch) {
	now := time.Now()
	for _, g := range b.groups {
		switch err := b.errs[g.name]; {
		case err != nil:
			// A marker may have been made, and its record not.
			z.attempt(g)
			p.imprison(z, g, err)
		case b.err == nil:
			delete(z.jail, g.name)
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

// halve has a batch that was rejected tried again in halves, until one name is alone.
func (p *Publisher) halve(z *zone, b *batch) {
	p.Metrics.registryErrors.Inc()
	if len(b.groups) == 1 {
		if b.errs[b.groups[0].name] != nil {
			return
		}
		p.imprison(z, b.groups[0], b.err)
		return
	}
	z.limit = (len(b.groups) + 1) / 2
	p.again(z, b)
}

// again has the names of a batch planned again, but for those that failed by themselves.
func (p *Publisher) again(z *zone, b *batch) {
	for _, g := range b.groups {
		if b.errs[g.name] == nil {
			z.dirty[g.name] = struct{}{}
		}
	}
}

// imprison lets a name wait, longer each time, and says why.
func (p *Publisher) imprison(z *zone, g group, err error) {
	j := z.jail[g.name]
	if j == nil {
		j = &jailed{}
		z.jail[g.name] = j
	}
	j.until = time.Now().Add(backoff(j.failures, p.Interval))
	if errors.Is(err, provider.ErrStale) {
		z.known = false
	}
	if j.failures++; j.failures == 1 {
		// Perhaps the zone isn't what it is taken for.
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
