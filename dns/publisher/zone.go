package publisher

import (
	"errors"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/provider"
)

// zoneKey identifies a zone. With some providers only the ID is unique, with others only the
// name.
type zoneKey struct{ id, name string }

func keyOf(z dns.Zone) zoneKey { return zoneKey{z.ID, z.Name} }

// zoneList is the state of listing the zones.
type zoneList struct {
	busy bool
	due  time.Time
	trouble
	// unlisted is why the provider may have more zones than it has listed; nil if it hasn't.
	unlisted error
}

// zone is a zone of the provider, with everything that has to be done in it.
type zone struct {
	dns.Zone
	mirror *mirror
	names  *names
	others others
	ledger *budget.Ledger

	// busy is true while a job for the zone is running.
	busy bool
	// known is true when the mirror has what the zone has: not before it was read, and not
	// after an error with an unknown outcome. doubts counts the times when that was lost: a
	// listing that began before the last one doesn't bring it back. verifyAt is when to read
	// the zone again.
	known    bool
	doubts   int
	listed   bool
	verifyAt time.Time
	// version is that of the list of zones, which may be newer than what was read.
	version string
	// readAt is when the zone was read last.
	readAt time.Time
	// fresh is true after a listing, until it is known whether there is anything to do.
	fresh bool
	// firstPass is when all names had been looked at once. complete is true once the losses that
	// were delayed then were planned, too.
	firstPass time.Time
	complete  bool
	// reading, writing and adjusting are the failures of each; applyAt is when the provider
	// allows the next batch.
	reading, writing, adjusting trouble
	applyAt                     time.Time
	// made are changes of which it isn't known yet whether all servers answer with them, and
	// confirming those about which the provider is being asked.
	made, confirming []group
	// limit is the most names for a batch. It is lower after a rejection; 0 is no limit.
	limit int
	// batch is how large batches are, so that none takes long.
	batch batchPace
	// blamed is how many names in a row have failed alone, for no reason that the provider gives.
	blamed int
	// saidUnselected is true once the log says that the provider doesn't take names into the zone.
	saidUnselected bool

	// shares has the names of namespaces that may have no more, refused what was said of names that others have.
	shares  *shares
	refused refusedBy
}

// trouble is the failures of an operation since its last success.
type trouble struct {
	failures int
	// retryAt is when to try again.
	retryAt time.Time
	err     error
}

func (p *Publisher) newZone(z dns.Zone) *zone {
	l := p.accounts.book.Ledger(z)
	l.Forget()
	made := &zone{Zone: z, version: z.Version, mirror: newMirror(), names: newNames(l.Note), ledger: l, shares: newShares(p.MaxNames), refused: refusedBy{}}
	changed := func(name string) { p.changedAt(made, name) }
	made.mirror.changed, made.names.changed = changed, changed
	made.names.namespaceOf = func(name string) string { return p.namespaceOf(made, name) }
	made.names.adds = func(name string) bool { return made.mirror.node(name).owned == 0 }
	return made
}

// newZoneless returns the names that are in no zone: none yet.
func (p *Publisher) newZoneless() *names {
	made := newNames(noMetrics)
	made.changed = func(name string) { p.changedAt(nil, name) }
	return made
}

// mistrust has the zone read again before anything else is done.
func (z *zone) mistrust() {
	z.known = false
	z.doubts++
}

// reset is called when the zone holds other names than before: it is read as if for the first
// time. Calls that are under way go on.
func (z *zone) reset() {
	z.mistrust()
	z.listed = false
	z.mirror.clear()
	z.shares, z.refused = newShares(z.shares.limit), refusedBy{}
	z.others = others{}
	for _, n := range z.names.all {
		z.names.drop(n)
	}
}

// nextDueIn returns when there is something to do in the zone, or latest if that is earlier.
func (p *Publisher) nextDueIn(z *zone, latest time.Time) time.Time {
	if z.busy {
		return latest
	}
	due := z.verifyAt
	switch {
	case !z.known:
		due = time.Time{}
	case !p.looked:
		// Its names wait for sources.
	case z.names.count(dirty) > 0:
		due = earliest(due, z.writing.retryAt)
	case z.names.count(planned) > 0:
		due = earliest(due, later(z.applyAt, z.writing.retryAt))
	}
	if next := z.names.in[waiting].names; len(next) > 0 && p.looked {
		due = earliest(due, later(next[0].next, z.writing.retryAt))
	}
	if next := z.ledger.Due(); p.looked && !next.IsZero() {
		due = earliest(due, next)
	}
	return earliest(latest, later(due, z.reading.retryAt))
}

// step starts what is due in a zone.
func (p *Publisher) step(z *zone, now time.Time) {
	if z.busy || now.Before(z.reading.retryAt) || p.mayNotCall(now) {
		return
	}
	if !z.known || !now.Before(z.verifyAt) {
		// A listing doesn't stand in the way of a write that comes meanwhile, so it doesn't begin
		// before it may be made.
		if p.limiter.Allow() {
			p.listRecords(z)
		}
		return
	}
	if !p.looked || now.Before(z.writing.retryAt) {
		return
	}
	z.names.due(now)
	if z.names.count(dirty) > 0 {
		p.planDirty(z)
	}
	p.ration(z, now)
	if z.fresh && z.names.count(dirty, asking) == 0 {
		z.fresh = false
		p.completed(z)
		p.tellOthers(z)
		if z.names.count(planned) == 0 {
			p.Metrics.noOps.Inc()
			p.Metrics.lastSync.SetToCurrentTime()
		}
		p.verify()
	}
	// What is planned is made before the provider is asked about more.
	if !now.Before(z.applyAt) {
		p.apply(z)
	}
	if !z.busy {
		p.adjust(z)
	}
}

// mayNotCall reports whether the provider must not be called now: because it said so, or
// because there are enough calls at the moment.
func (p *Publisher) mayNotCall(now time.Time) bool {
	return now.Before(p.throttledUntil) || p.calls >= p.atATime
}

// verify counts the record sets that are asked for and that the zones have. Of several zones
// that hold a name, the first one counts.
func (p *Publisher) verify() {
	if !p.unverified {
		return
	}
	p.unverified = false
	there := map[string]int{}
	for name := range p.Desired.Names() {
		holders := p.zones.holders(name)
		if len(holders) == 0 {
			continue
		}
		raw := holders[0].mirror.lookup(name)
		if len(raw) == 0 {
			continue
		}
		wanted := p.Desired.Want(name)
		for _, r := range raw {
			if slices.ContainsFunc(wanted, func(w *dns.RecordSet) bool { return w.Type == r.Type }) && !p.isMarker(r) {
				there[r.Type]++
			}
		}
	}
	p.Metrics.verified(there)
}

// isMarker reports whether a record set is a marker of the kind of ownership in use.
func (p *Publisher) isMarker(r *dns.RecordSet) bool {
	_, marker := p.Owner.Mark(r)
	return marker
}

// touch has a name planned again in the zones that hold it, and the names that stand for it.
func (p *Publisher) touch(name string) {
	p.touchName(name)
	p.touchDependents(name)
}

// touchName has a name planned again in the zones that hold it.
func (p *Publisher) touchName(name string) {
	if p.zones == nil {
		return
	}
	holders := p.zones.holders(name)
	if len(holders) == 0 {
		p.noZone(name)
		return
	}
	for _, z := range holders {
		if p.asks(z, name) {
			z.names.outdate(name)
		} else {
			z.names.touch(name)
		}
	}
}

// asks reports whether the provider has to be asked about what objects ask for under a name.
func (p *Publisher) asks(z *zone, name string) bool {
	if _, adjusts := p.Provider.(provider.Adjuster); !adjusts {
		return false
	}
	return len(p.want(z, name).wanted) > 0
}

// noZone notes that objects ask for a name that is in no zone, or no more.
func (p *Publisher) noZone(name string) {
	wanted := p.Desired.Want(name)
	if len(wanted) == 0 || !p.Domains.Match(name) {
		if n := p.zoneless.all[name]; n != nil {
			p.zoneless.drop(n)
		}
		return
	}
	n := p.zoneless.state(name)
	if n.phase == held {
		return
	}
	message := "the name is in no zone of the provider: create the zone, or change the zone filters"
	if p.zoneList.unlisted != nil {
		message = "the name is in no zone that could be listed, and may be in another one: " + p.zoneList.unlisted.Error()
	}
	p.zoneless.explain(n, ReasonError, message)
	p.zoneless.hold(n)
	if p.unzoned.more() {
		p.Log.Warn("Can't publish a record", "record", name, "err", message)
	}
	p.Notify(Notice{Objects: objectsOf(wanted), Record: wanted[0], Action: ActionFailed, Reason: ReasonError, Message: message})
}

func objectsOf(records []*dns.RecordSet) []dns.Object {
	var objects []dns.Object
	for _, r := range records {
		for _, o := range r.Objects {
			if !slices.Contains(objects, o) {
				objects = append(objects, o)
			}
		}
	}
	return objects
}

// troubled delays an operation after an error that isn't about a single record.
func (p *Publisher) troubled(t *trouble, operation string, err error) {
	t.retryAt = time.Now().Add(backoff(t.failures, p.Interval))
	if t.failures++; t.failures == 1 {
		p.unsettle()
	}
	p.providerFailed(&t.err, operation, err)
}

func (p *Publisher) untroubled(t *trouble, operation string) {
	if t.err != nil {
		p.Log.Info("Provider works again", "operation", operation)
		p.unsettle()
	}
	*t = trouble{}
}

// providerFailed counts an error of the provider, and reports it if it is a new one.
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

// backoff returns how long to wait after a failure, given the number of failures before it.
func backoff(failures int, most time.Duration) time.Duration {
	return min(firstBackoff<<min(failures, 20), max(most, firstBackoff))
}
