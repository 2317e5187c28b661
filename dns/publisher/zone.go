package publisher

import (
	"errors"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/provider"
)

// zoneList is the state of listing the zones.
type zoneList struct {
	busy bool
	due  time.Time
	retryState
	// unlisted says why the list of zones may be incomplete; nil if it is complete.
	unlisted error
}

// zone is the state of a zone of the provider.
type zone struct {
	dns.Zone
	mirror      *mirror
	names       *names
	otherOwners otherOwners
	ledger      *budget.Ledger

	// busy is true while a job for the zone is running.
	busy bool
	// upToDate is true while the mirror is up to date: after the zone was read, and until an error
	// with an unknown outcome. unknownOutcomes counts such errors: a listing that began before the
	// last one doesn't set upToDate. verifyAt is when to read the zone again.
	upToDate        bool
	unknownOutcomes int
	listed          bool
	verifyAt        time.Time
	// version is the version in the list of zones, which may be newer than the last listing.
	version string
	// readAt is when the zone was last read.
	readAt time.Time
	// listingUnplanned is true after a listing until all differences were planned.
	listingUnplanned bool
	// firstPass is when all names had been planned once. complete is true once the deletions that were
	// delayed at that time are planned too.
	firstPass time.Time
	complete  bool
	// reading, writing and adjusting are the failures of these operations. applyAt is when the
	// provider allows the next batch.
	reading, writing, adjusting retryState
	applyAt                     time.Time
	// unconfirmed are changes that may not be visible on all servers yet. confirming are those that
	// the provider is being asked to confirm.
	unconfirmed, confirming []group
	// limit is the maximum number of names of a batch, which is lowered after a rejection; 0 means
	// none.
	limit int
	// batch is the adaptive size of batches.
	batch batchPace
	// suspects are the names that failed alone, without a reason from the provider, since the last
	// success. pausedFor are the namespaces that have to wait until writing.retryAt; nil means all.
	suspects  suspects
	pausedFor map[string]bool
	// unselectedLogged is true after a log line said that the provider's filter excludes names of the
	// zone.
	unselectedLogged bool

	// shares counts the names of namespaces. refused has the reported refusals.
	shares  *shares
	refused refusedBy
}

// retryState counts the failures of an operation since its last success.
type retryState struct {
	failures int
	// retryAt is when to try again.
	retryAt time.Time
	err     error
}

func (p *Publisher) newZone(z dns.Zone) *zone {
	l := p.budgets.book.Ledger(z)
	l.Forget()
	made := &zone{Zone: z, version: z.Version, mirror: newMirror(), names: newNames(l.Note), ledger: l, shares: newShares(p.MaxNames), refused: refusedBy{}, suspects: suspects{}}
	changed := func(name string) { p.changedAt(made, name) }
	made.mirror.changed, made.names.changed = changed, changed
	made.names.namespaceOf = func(name string) string { return p.namespaceOf(made, name) }
	made.names.onlyAdds = func(name string) bool { return made.mirror.node(name).owned == 0 }
	return made
}

// requireRead has the zone read again before anything else.
func (z *zone) requireRead() {
	z.upToDate = false
	z.unknownOutcomes++
}

// reset is called when the zone holds other names than before: it is read as if for the first time.
// Running calls continue.
func (z *zone) reset() {
	z.requireRead()
	z.listed = false
	z.mirror.clear()
	z.shares, z.refused = newShares(z.shares.limit), refusedBy{}
	z.otherOwners = otherOwners{}
	for _, n := range z.names.all {
		z.names.drop(n)
	}
}

// nextDueIn returns the next time at which work in the zone is due, but not later than latest.
func (p *Publisher) nextDueIn(z *zone, latest time.Time) time.Time {
	if z.busy || p.failingWait(z) {
		return latest // the end of a call comes first
	}
	due := z.verifyAt
	switch {
	case !z.upToDate:
		due = time.Time{}
	case !p.sourcesEvaluated:
		// These names wait for sources.
	case z.names.count(dirty) > 0:
		due = earliest(due, z.planAt())
	case z.names.count(planned) > 0:
		due = earliest(due, later(z.applyAt, z.writeAt()))
	}
	if next := z.names.in[waiting].names; len(next) > 0 && p.sourcesEvaluated {
		due = earliest(due, later(next[0].next, z.planAt()))
	}
	if next := z.ledger.Due(); p.sourcesEvaluated && !next.IsZero() {
		due = earliest(due, next)
	}
	return earliest(latest, later(due, z.reading.retryAt))
}

// step starts what is due in a zone.
func (p *Publisher) step(z *zone, now time.Time) {
	if z.busy || now.Before(z.reading.retryAt) || p.mayNotCall(now) || p.failingWait(z) {
		return
	}
	if !z.upToDate || !now.Before(z.verifyAt) {
		// The listing begins only when the limiter permits, so that it doesn't delay a write that
		// comes meanwhile.
		if p.limiter.Allow() {
			p.listRecords(z)
		}
		return
	}
	if !p.sourcesEvaluated || now.Before(z.planAt()) {
		return
	}
	z.names.due(now)
	if z.names.count(dirty) > 0 {
		p.planDirty(z)
	}
	p.holdOverBudget(z, now)
	if z.listingUnplanned && z.names.count(dirty, asking) == 0 {
		z.listingUnplanned = false
		p.markComplete(z)
		p.reportOtherOwners(z)
		if z.names.count(planned) == 0 {
			p.Metrics.noOps.Inc()
			p.Metrics.lastSync.SetToCurrentTime()
		}
		p.verify()
	}
	// Planned changes are applied before the provider is asked about more names.
	if !now.Before(z.applyAt) {
		p.apply(z, z.take(now, p.batchSize))
	}
	if !z.busy {
		p.adjust(z)
	}
}

// mayNotCall reports whether the provider must not be called now, because it is throttled or has
// enough running calls.
func (p *Publisher) mayNotCall(now time.Time) bool {
	return now.Before(p.throttledUntil) || p.calls >= p.maxConcurrentCalls
}

// failingWait reports whether a zone that failed must wait, because others of this kind use half of the
// calls. Their calls may take until their timeout, and would leave none to the zones that work.
func (p *Publisher) failingWait(z *zone) bool {
	return z.failed() && p.failingCalls >= max(p.maxConcurrentCalls/2, 1)
}

// verify counts the wanted record sets that the zones have. If several zones hold a name, the first
// one counts.
func (p *Publisher) verify() {
	if !p.unverified {
		return
	}
	p.unverified = false
	there := map[string]int{}
	for name := range p.Desired.Names() {
		holders := p.zones.zonesFor(name)
		if len(holders) == 0 {
			continue
		}
		raw := holders[0].mirror.lookup(name)
		if len(raw) == 0 {
			continue
		}
		wanted := p.Desired.Want(name)
		for _, r := range raw {
			if slices.ContainsFunc(wanted, func(w *dns.RecordSet) bool { return w.Type == r.Type }) && !p.isOwnershipRecord(r) {
				there[r.Type]++
			}
		}
	}
	setByType(p.Metrics.verifiedRecords, there)
}

// isOwnershipRecord reports whether a record set is an ownership record of the registry in use.
func (p *Publisher) isOwnershipRecord(r *dns.RecordSet) bool {
	_, isOwnership := p.Owner.OwnershipRecord(r)
	return isOwnership
}

// touch plans a name again in the zones that hold it, and the names that depend on it.
func (p *Publisher) touch(name string) {
	p.touchName(name)
	p.touchDependents(name)
}

// touchName plans a name again in the zones that hold it.
func (p *Publisher) touchName(name string) {
	if p.zones == nil {
		return
	}
	holders := p.zones.zonesFor(name)
	if len(holders) == 0 {
		p.noZone(name)
		return
	}
	for _, z := range holders {
		if p.needsAdjust(z, name) {
			z.names.outdate(name)
		} else {
			z.names.touch(name)
		}
	}
}

// needsAdjust reports whether the provider has to adjust the wanted record sets of a name.
func (p *Publisher) needsAdjust(z *zone, name string) bool {
	if _, adjusts := p.Provider.(provider.Adjuster); !adjusts {
		return false
	}
	return len(p.want(z, name).wanted) > 0
}

// noZone notes and reports an unzoned name if objects ask for it, and forgets it otherwise.
func (p *Publisher) noZone(name string) {
	wanted := p.Desired.Want(name)
	if len(wanted) == 0 || !p.Domains.Match(name) {
		p.changedAt(nil, name)
		delete(p.unzoned, name)
		return
	}
	if _, reported := p.unzoned[name]; reported {
		return
	}
	message := "the name is in no zone of the provider: create the zone, or change the zone filters"
	if p.zoneList.unlisted != nil {
		message = "the name is in no zone that could be listed, and may be in another one: " + p.zoneList.unlisted.Error()
	}
	p.changedAt(nil, name)
	p.unzoned[name] = message
	if p.unzonedLog.allow() {
		p.Log.Warn("Can't publish a record", "record", name, "err", message)
	}
	p.Notify(Notice{Objects: objectsOf(wanted), Record: wanted[0], Action: ActionFailed, Reason: ReasonError, Message: message})
}

// objectsOf returns the objects of record sets, each once.
func objectsOf(records []*dns.RecordSet) []dns.Object {
	lists := make([][]dns.Object, len(records))
	for i, r := range records {
		lists[i] = r.Objects
	}
	return dns.JoinObjects(lists...)
}

// operationFailed delays an operation after an error that isn't about a single record.
func (p *Publisher) operationFailed(t *retryState, operation string, err error) {
	t.retryAt = time.Now().Add(backoff(t.failures, p.Interval))
	if t.failures++; t.failures == 1 {
		p.resetFollowers()
	}
	p.providerFailed(&t.err, operation, err)
}

func (p *Publisher) operationSucceeded(t *retryState, operation string) {
	if t.err != nil {
		p.Log.Info("Provider works again", "operation", operation)
		p.resetFollowers()
	}
	*t = retryState{}
}

// providerFailed counts an error of the provider, and reports it if it is new.
func (p *Publisher) providerFailed(last *error, operation string, err error) {
	p.Metrics.registryErrors.Inc()
	if p.once != nil {
		p.once.fail(err)
	}
	if *last == nil || (*last).Error() != err.Error() {
		message := operation + ": " + err.Error()
		if errors.Is(err, provider.ErrCredentials) {
			message += ": check the credentials of the provider"
		}
		p.Log.Error("Provider failed; trying again", "operation", operation, "err", err)
		p.Notify(Notice{Action: ActionFailed, Reason: ReasonProvider, Message: message})
	}
	*last = err
}

// backoff returns the delay after a failure, given the number of failures before it.
func backoff(failures int, maxDelay time.Duration) time.Duration {
	return min(firstBackoff<<min(failures, 20), max(maxDelay, firstBackoff))
}
