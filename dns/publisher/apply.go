package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// errRefused is the error of changes that the registry refuses. The registry itself reports the
// reason.
var errRefused = errors.New("the ownership record can't be written: see the reason in the log or in another Event")

// batch is what one job applies: groups of one zone, and the changes of their ownership records,
// which may be in other zones.
type batch struct {
	groups []group
	parts  []part
	// refused are the changes of record sets that another owner has.
	refused []dns.Change
	// errs has the error of each name that failed.
	errs map[string]error
	// err is the error of the whole batch. byProvider is true if the provider returned it for the
	// changes.
	err        error
	byProvider bool
}

// part is the changes of a batch in one zone.
type part struct {
	zone    *zone
	changes []dns.Change
	// names has the group's name for each change.
	names []string
	// applied are the changes that were made.
	applied []dns.Change
}

// apply starts a job that applies groups.
func (p *Publisher) apply(z *zone, groups []group) {
	if len(groups) == 0 {
		return
	}
	if p.DryRun {
		p.propose(z, groups)
		return
	}
	z.busy = true
	zones := p.zones
	counted := p.chargeBudget(z, groups)
	snapshot := p.budgets.book.Snapshot(time.Now())
	p.startCall(z, cmp.Or(p.capabilities.BatchTime, applyTimeout), func(ctx context.Context) func() {
		begun := time.Now()
		b := &batch{groups: groups, errs: map[string]error{}}
		if b.err = p.MayWrite(); b.err == nil {
			p.storeCharges(ctx, snapshot, b, counted)
			p.applyBatch(ctx, zones, z, b)
		}
		known, took := p.changedOwnership(), time.Since(begun)
		return func() {
			defer p.relabel(known)
			if !p.metered() {
				z.batch.adapt(len(b.changes()), took)
			}
			z.applyAt = time.Now().Add(p.batchInterval)
			p.applied(z, b)
		}
	})
}

func describe(c dns.Change) string {
	r := c.RecordSet()
	text := fmt.Sprintf("%s %s %s", r.Name, r.Type, shownTargets(r.Targets))
	if r.SetIdentifier != "" {
		text += " (" + r.SetIdentifier + ")"
	}
	switch {
	case c.Old == nil:
		return "create " + text
	case c.New == nil:
		return "delete " + text
	default:
		return "update " + text + ", " + updated(c.Old, c.New)
	}
}

// updated describes what an update changes. If nothing of the record differs, only its ownership record does.
func updated(old, wanted *dns.RecordSet) string {
	var parts []string
	if !slices.Equal(old.Targets, wanted.Targets) {
		parts = append(parts, "was "+shownTargets(old.Targets))
	}
	if old.TTL != wanted.TTL {
		parts = append(parts, fmt.Sprintf("ttl was %d", old.TTL))
	}
	if !slices.Equal(old.Properties, wanted.Properties) {
		parts = append(parts, "other properties")
	}
	if len(parts) == 0 {
		return "ownership record"
	}
	return strings.Join(parts, ", ")
}

// maxTargetsShown and maxTargetShown limit the targets in a text, and the bytes of each. Objects may
// ask for thousands.
const maxTargetsShown, maxTargetShown = 20, 300

func shownTargets(targets []string) string {
	shown := make([]string, 0, maxTargetsShown)
	for _, t := range targets[:min(len(targets), maxTargetsShown)] {
		shown = append(shown, sanitize.CutTo(t, maxTargetShown))
	}
	if more := len(targets) - len(shown); more > 0 {
		return fmt.Sprintf("%v and %d more", shown, more)
	}
	return fmt.Sprint(shown)
}

// applyBatch applies a batch. It is called outside of the loop.
func (p *Publisher) applyBatch(ctx context.Context, zones *zoneSet, z *zone, b *batch) {
	changes := b.changes()
	send, refused, err := p.Owner.Before(ctx, zones.lookup(z), changes)
	if err != nil {
		b.err = fmt.Errorf("claim records: %w", err)
		return
	}
	b.refused = refused
	p.divide(zones, z, b, send)
	if b.err = p.adjustOwnership(ctx, b); b.err != nil {
		return
	}
	for i := range b.parts {
		b.parts[i].dropFailed(b.errs)
		if len(b.parts[i].changes) == 0 {
			continue
		}
		p.applyPart(ctx, z, b, &b.parts[i])
		if b.err != nil {
			break
		}
	}
	var applied []dns.Change
	for i := range b.parts {
		applied = append(applied, b.parts[i].applied...)
	}
	if len(applied) == 0 {
		return
	}
	if err := p.Owner.After(ctx, applied); err != nil && b.err == nil {
		b.err = fmt.Errorf("record the applied changes in the registry: %w", err)
	}
}

// applyPart calls the provider with a part, and records which changes were made. If another zone than
// z can't be changed, only the names fail that have their ownership records there.
func (p *Publisher) applyPart(ctx context.Context, z *zone, b *batch, part *part) {
	if b.err = p.limiter.Wait(ctx); b.err != nil {
		return
	}
	begun, span := time.Now(), p.Tracer.Begin("dns.apply")
	err := p.panics.Catch(atProvider, func() error { return p.Provider.Apply(ctx, part.zone.Zone, part.changes) })
	took := time.Since(begun)
	p.Metrics.applied(part.zone, took, err)
	p.logApplied(part, took, err)
	p.trace(span, part, err)
	if o, ok := p.Owner.(owner.Outside); ok && err != nil {
		o.Failed(ctx, part.changes, err)
	}
	each, err := provider.Outcomes(err, len(part.changes))
	switch {
	case each != nil:
		part.take(each, b.errs)
	case err == nil:
		part.applied = part.changes
	case part.zone != z && provider.NothingMade(err):
		for _, name := range part.names {
			b.errs[name] = err
		}
	default:
		b.err, b.byProvider = err, true
	}
}

// take records the outcome of each change: those that were made, and the error of each failed name.
func (p *part) take(outcomes []error, errs map[string]error) {
	for i, c := range p.changes {
		if outcomes[i] == nil {
			p.applied = append(p.applied, c)
		} else if errs[p.names[i]] == nil {
			errs[p.names[i]] = outcomes[i]
		}
	}
}

// requireReadOf makes the zones of the batch that have changes of a name be read again.
func (b *batch) requireReadOf(name string) {
	for _, part := range b.parts {
		if slices.Contains(part.names, name) {
			part.zone.requireRead()
		}
	}
}

// made returns the keys of the record sets that the batch is known to have changed or confirmed.
func (b *batch) made() map[dns.Key]struct{} {
	made := map[dns.Key]struct{}{}
	for _, part := range b.parts {
		for _, c := range part.applied {
			made[c.RecordSet().Key()] = struct{}{}
		}
	}
	return made
}

// applied is called in the loop with the outcome of a batch. Each of its names leaves the phase
// applying here.
func (p *Publisher) applied(z *zone, b *batch) {
	z.busy = false
	defer p.measure(z)
	p.writeThrough(b)
	for _, c := range b.refused {
		if name := c.RecordSet().Key().Name; b.errs[name] == nil {
			b.errs[name] = errRefused
		}
	}
	if b.err != nil && !provider.NothingMade(b.err) {
		p.outcomeUnknown(z, b)
	}
	remaining := p.splitFailed(z, b)
	switch {
	case b.err == nil:
		p.throttles = 0
		z.clearSuspects()
		p.operationSucceeded(&z.writing, "apply changes in zone "+z.Name)
		if z.limit > 0 {
			if z.limit *= 2; z.limit >= defaultBatch {
				z.limit = 0
			}
		}
		p.succeed(z, remaining)
	case errors.Is(b.err, provider.ErrRejected):
		p.Metrics.registryErrors.Inc()
		p.halve(z, b, remaining)
	case errors.Is(b.err, provider.ErrStale):
		p.stale(z, b, remaining)
	case errors.Is(b.err, provider.ErrThrottled):
		p.pauseCalls(b.err)
		retryAll(z, remaining)
	default:
		p.failed(z, b, remaining)
	}
}

// failed retries a batch that failed in the registry, or in the provider without a reason. A single
// record may make a provider fail, so both halves are tried at once, and a name that fails alone
// backs off by itself. If several names fail alone, the zone backs off, or only their namespaces.
// Refused credentials are handled in the same way, because they may lack the right for some names
// only; they are also reported as a failure of the zone.
func (p *Publisher) failed(z *zone, b *batch, remaining []group) {
	operation := "apply changes in zone " + z.Name
	credentials := b.byProvider && errors.Is(b.err, provider.ErrCredentials)
	count := p.Metrics.registryErrors.Inc
	if credentials {
		count = func() { p.providerFailed(&z.writing.err, operation, b.err) }
		z.limit = (len(b.groups) + 1) / 2
	}
	switch {
	case !credentials && (!b.byProvider || provider.StopsAll(b.err)):
		retryAll(z, remaining)
		z.pausedFor = nil
		p.operationFailed(&z.writing, operation, b.err)
	case len(b.groups) > 1:
		count()
		p.Log.Warn("Can't apply changes; trying half of them", "zone", z.Name, "names", len(b.groups), "err", b.err)
		retryAll(z, remaining)
	case z.suspect(b.groups[0].name):
		retryAll(z, remaining)
		p.operationFailed(&z.writing, operation, b.err)
	default:
		count()
		p.postponeAll(z, remaining, b.err)
	}
}

// outcomeUnknown handles an unknown outcome: the zones are read again before anything else. The next batch
// is smaller, because a single record may make the provider fail.
func (p *Publisher) outcomeUnknown(z *zone, b *batch) {
	z.requireRead()
	for _, part := range b.parts {
		part.zone.requireRead()
	}
	made := b.made()
	for _, g := range b.groups {
		z.names.attempt(z.names.all[g.name], g, made)
	}
	if len(b.groups) > 1 {
		z.limit = (len(b.groups) + 1) / 2
	}
}

// writeThrough applies the changes that were made to the mirrors.
func (p *Publisher) writeThrough(b *batch) {
	before := map[*zone]map[string][]*dns.RecordSet{}
	for _, part := range b.parts {
		z := part.zone
		if !p.zones.has(z) {
			continue
		}
		for _, c := range part.applied {
			name, was := z.mirror.write(c)
			p.rememberApplied(z, c, was)
			if before[z] == nil {
				before[z] = map[string][]*dns.RecordSet{}
			}
			if _, known := before[z][name]; !known {
				before[z][name] = was
			}
		}
	}
	for z, names := range before {
		p.refresh(z, names)
	}
}

// splitFailed retries or delays the names of a batch that have an error of their own, and returns
// the others.
func (p *Publisher) splitFailed(z *zone, b *batch) (remaining []group) {
	made := b.made()
	var notStored *notStoredError
	for _, g := range b.groups {
		n, err := z.names.all[g.name], b.errs[g.name]
		if err == nil {
			remaining = append(remaining, g)
			continue
		}
		left := p.reportMade(z, g, made)
		switch {
		case errors.Is(err, provider.ErrThrottled):
			// The ownership record may have been created before the error.
			z.names.attempt(n, g, made)
			p.pauseCalls(err)
			z.names.retry(n)
		case provider.IsAny(err, provider.ErrNotTried, provider.ErrUnread):
			// The change of this name wasn't tried, so the error doesn't count as a failure of the name. A
			// failed name would be sent alone and later.
			z.names.retry(n)
		case errors.As(err, &notStored) && errors.Is(err, budget.ErrNoStore):
			// The budget decides again, now without its store.
			if !p.budgets.refused {
				p.storeFailed(notStored.cause)
			}
			z.names.retry(n)
		default:
			// The ownership record may have been created without its record set.
			z.names.attempt(n, g, made)
			z.names.tried(n, time.Now())
			if errors.Is(err, provider.ErrStale) {
				z.requireRead()
				b.requireReadOf(g.name)
				if z.names.outdated(n) {
					z.names.retry(n)
					continue
				}
			}
			p.postpone(z, n, left, err)
		}
	}
	return remaining
}

// reportMade reports the changes of a name that were made although others failed, because other objects
// may want them. It returns the other changes. If all were made, and only the ownership record failed, it
// reports none and returns all.
func (p *Publisher) reportMade(z *zone, g group, made map[dns.Key]struct{}) (left group) {
	done, left := group{name: g.name}, group{name: g.name, orphans: g.orphans}
	for _, c := range g.changes {
		if _, ok := made[c.RecordSet().Key()]; ok {
			done.changes = append(done.changes, c)
		} else {
			left.changes = append(left.changes, c)
		}
	}
	if len(left.changes) == 0 {
		return g
	}
	if len(done.changes) > 0 {
		p.logChanges(z, []group{done})
		p.confirm(z, []group{done})
	}
	return left
}

// succeed notes that all changes of the given names were made.
func (p *Publisher) succeed(z *zone, made []group) {
	fresh := make([]group, 0, len(made))
	for _, g := range made {
		n := z.names.all[g.name]
		again := z.names.made(n, time.Now())
		z.names.done(n)
		if again && p.capabilities.Blind {
			p.Metrics.reasserted.Inc()
			p.Log.Debug("Wrote a record again that can't be listed", "zone", z.Name, "record", g.name)
			continue
		}
		fresh = append(fresh, g)
	}
	p.logChanges(z, fresh)
	p.confirm(z, fresh)
	// The next listing verifies what the provider reported.
	z.verifyAt = earliest(z.verifyAt, time.Now().Add(p.Interval))
	p.Metrics.lastSync.SetToCurrentTime()
}

// halve retries a rejected batch in halves until the rejected name is alone.
func (p *Publisher) halve(z *zone, b *batch, remaining []group) {
	if len(b.groups) == 1 {
		p.postponeAll(z, remaining, b.err)
		return
	}
	z.limit = (len(b.groups) + 1) / 2
	retryAll(z, remaining)
}

// stale plans a batch again that is out of date as a whole, after the next listing of the zone.
// From the second time on the batch is halved, because the conflict never shows in listings: one
// name must not stop the others.
func (p *Publisher) stale(z *zone, b *batch, remaining []group) {
	z.requireRead()
	for _, part := range b.parts {
		part.zone.requireRead()
	}
	made := b.made()
	for _, g := range remaining {
		n := z.names.all[g.name]
		z.names.attempt(n, g, made)
		if len(b.groups) == 1 {
			z.names.tried(n, time.Now())
		}
		switch first := z.names.outdated(n); {
		case first:
			z.names.retry(n)
		case len(b.groups) > 1:
			z.limit = (len(b.groups) + 1) / 2
			z.applyAt = time.Now().Add(firstBackoff)
			z.names.retryAsNew(n)
		default:
			p.postpone(z, n, g, b.err)
		}
	}
}

// retryAll plans all names of groups again at once.
func retryAll(z *zone, remaining []group) {
	for _, g := range remaining {
		z.names.retry(z.names.all[g.name])
	}
}

// postponeAll delays all names of a batch after a failure.
func (p *Publisher) postponeAll(z *zone, remaining []group, err error) {
	for _, g := range remaining {
		n := z.names.all[g.name]
		z.names.tried(n, time.Now())
		p.postpone(z, n, g, err)
	}
}

// postpone delays a name after a failure, longer each time, and reports the error.
func (p *Publisher) postpone(z *zone, n *nameState, g group, err error) {
	now := time.Now()
	if n.failures == 0 {
		// The mirror may be out of date, so the zone is read again soon.
		z.verifyAt = earliest(z.verifyAt, now.Add(p.Interval/10))
	}
	// A plan is complete even if the provider refuses some wanted record sets.
	if _, refused := errors.AsType[refusal](err); p.once != nil && !errors.Is(err, errOutsideZones) && !(refused && p.DryRun) {
		p.once.fail(fmt.Errorf("%s: %w", g.name, err))
	}
	known := n.failures > 0 && n.reason == ReasonError && n.message == err.Error()
	if z.names.repeating(n.name) && errors.Is(err, provider.ErrStale) {
		// The listing may change each time, and the message with it.
		known = !z.names.markReported(n.name) || known
	}
	until := now.Add(backoff(n.failures, p.Interval))
	if n.phase == applying {
		z.names.fail(n, until, err.Error())
	} else {
		z.names.refuse(n, until, err.Error())
	}
	if known {
		return
	}
	for _, c := range g.changes {
		p.Log.Error("Can't change a record; trying again later", "zone", z.Name, "change", describe(c), "err", err)
		p.rememberFailed(z, c, err.Error())
		p.Notify(Notice{Record: c.RecordSet(), Objects: c.RecordSet().Objects, Action: ActionFailed, Reason: ReasonError, Message: err.Error()})
	}
}
