package publisher

import (
	"errors"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
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
}

// zone is a zone of the provider, with everything that has to be done in it.
type zone struct {
	dns.Zone
	mirror *mirror
	// dirty are the names to be planned; queue has the changes of names that were planned.
	dirty map[string]struct{}
	queue queue
	// wanted is what a [provider.Adjuster] stores for the dirty names; asked are the names that
	// it is being asked about and that were not touched since. They are empty for other
	// providers.
	wanted map[string]answer
	asked  map[string]struct{}
	// gated are the names whose changes wait until more is known; postponed are those whose
	// changes failed.
	gated     map[string]struct{}
	postponed map[string]*postponed
	// stale are the names whose changes were out of date when they were made last.
	stale map[string]struct{}
	// orphans are the names with markers that describe nothing, with the number of listings
	// that have shown this.
	orphans map[string]int
	// attempts has, by name, the record sets of which it isn't known whether they were
	// created. disowned has the deletions of markers of ours that describe record sets of
	// somebody else.
	attempts map[string][]*dns.RecordSet
	disowned map[string][]dns.Change
	// conflicts are the names that somebody else has, with the message about it.
	conflicts map[string]string
	budget    ledger

	// busy is true while a job for the zone is running.
	busy bool
	// known is true when the mirror has what the zone has: not before it was read, and not
	// after an error with an unknown outcome. verifyAt is when to read the zone again.
	known  bool
	listed bool
	// fresh is true after a listing, until it is known whether there is anything to do.
	fresh    bool
	verifyAt time.Time
	// reading, writing and adjusting are the failures of each; applyAt is when the provider
	// allows the next batch.
	reading, writing, adjusting trouble
	applyAt                     time.Time
	// limit is the most names for a batch. It is lower after a rejection; 0 is no limit.
	limit int
	// proposed are the names with changes that a dry run doesn't make.
	proposed map[string]group
}

// answer is what a provider stores for a name.
type answer struct {
	sets []*dns.RecordSet
	// outdated is true when objects ask for something else by now.
	outdated bool
}

// trouble is the failures of an operation since its last success.
type trouble struct {
	failures int
	// retryAt is when to try again.
	retryAt time.Time
	err     error
}

// postponed is a name whose own changes failed.
type postponed struct {
	until    time.Time
	failures int
	message  string
}

func newZone(z dns.Zone) *zone {
	return &zone{
		Zone: z, mirror: newMirror(),
		wanted: map[string]answer{}, asked: map[string]struct{}{}, dirty: map[string]struct{}{}, queue: newQueue(), gated: map[string]struct{}{}, postponed: map[string]*postponed{},
		stale: map[string]struct{}{}, orphans: map[string]int{}, attempts: map[string][]*dns.RecordSet{}, disowned: map[string][]dns.Change{},
		conflicts: map[string]string{}, proposed: map[string]group{}, budget: newLedger(),
	}
}

// touch has a name planned again.
func (z *zone) touch(name string) {
	z.dirty[name] = struct{}{}
	delete(z.postponed, name)
	delete(z.wanted, name)
	delete(z.asked, name)
}

// nextDue returns when there is something to do in the zone, or latest if that is earlier.
func (z *zone) nextDue(latest time.Time) time.Time {
	if z.busy {
		return latest
	}
	due := z.verifyAt
	if !z.known {
		due = time.Time{}
	} else if len(z.dirty) > 0 {
		due = earliest(due, z.writing.retryAt)
	} else if z.queue.ready() {
		due = earliest(due, later(z.applyAt, z.writing.retryAt))
	}
	for _, j := range z.postponed {
		due = earliest(due, j.until)
	}
	return earliest(latest, later(due, z.reading.retryAt))
}

// step starts what is due in a zone.
func (p *Publisher) step(z *zone, now time.Time) {
	if z.busy || now.Before(z.reading.retryAt) || p.mayNotCall(now) {
		return
	}
	if !z.known || !now.Before(z.verifyAt) {
		p.listRecords(z)
		return
	}
	for name, j := range z.postponed {
		if !now.Before(j.until) {
			z.dirty[name] = struct{}{}
			j.until = now.Add(p.Interval)
		}
	}
	if now.Before(z.writing.retryAt) {
		return
	}
	if len(z.dirty) > 0 {
		p.planDirty(z, now)
	}
	if z.fresh && len(z.dirty) == 0 {
		z.fresh = false
		if !z.queue.ready() {
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

// verify counts the record sets that are asked for and that the zones have.
func (p *Publisher) verify() {
	if !p.unverified {
		return
	}
	p.unverified = false
	there := map[string]int{}
	for name := range p.Desired.Names() {
		z := p.zones.zoneOf(name)
		if z == nil {
			continue
		}
		for _, c := range z.mirror.node(name).current {
			if slices.ContainsFunc(p.Desired.Want(name), func(r *dns.RecordSet) bool { return r.Type == c.Set.Type }) {
				there[c.Set.Type]++
			}
		}
	}
	p.Metrics.verified(there)
}

// touch has a name planned again in its zone.
func (p *Publisher) touch(name string) {
	if p.zones == nil {
		return
	}
	if z := p.zones.zoneOf(name); z != nil {
		z.touch(name)
		return
	}
	p.noZone(name)
}

func (p *Publisher) noZone(name string) {
	wanted := p.Desired.Want(name)
	if len(wanted) == 0 || !p.Domains.Match(name) {
		delete(p.zoneless, name)
		return
	}
	if p.zoneless[name] {
		return
	}
	p.zoneless[name] = true
	const message = "the name is in no zone of the provider: create the zone, or change the zone filters"
	p.Log.Warn("Can't publish a record", "record", name, "err", message)
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
	t.failures++
	p.providerFailed(&t.err, operation, err)
}

func (p *Publisher) untroubled(t *trouble, operation string) {
	if t.err != nil {
		p.Log.Info("Provider works again", "operation", operation)
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
