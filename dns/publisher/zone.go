package publisher

import (
	"errors"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// zoneKey tells zones apart: providers differ in which of the two is unique.
type zoneKey struct{ id, name string }

func keyOf(z dns.Zone) zoneKey { return zoneKey{z.ID, z.Name} }

// zoneList is what is known about which zones there are.
type zoneList struct {
	busy bool
	due  time.Time
	trouble
}

// zone is one zone of the provider, and what is to be done in it.
type zone struct {
	dns.Zone
	mirror *mirror
	// dirty are the names to be planned; queue those that were, with their changes.
	dirty map[string]struct{}
	queue queue
	// wanted is what the provider makes of what is asked for, under names that are dirty; empty
	// for a provider that isn't a provider.Adjuster.
	wanted map[string][]*dns.RecordSet
	// gated are the names of which something is held back because not everything is known;
	// jail are those whose changes failed.
	gated map[string]struct{}
	jail  map[string]*jailed
	// orphans are the names with markers that describe nothing, with the number of listings
	// that have shown it.
	orphans map[string]int
	// attempts are the record sets that may have been created or not, by name; disowned are the
	// deletions of markers that turned out to be of somebody else's.
	attempts map[string][]*dns.RecordSet
	disowned map[string][]dns.Change
	// conflicts are the names that somebody else keeps from us, with what was said of them.
	conflicts map[string]string
	budget    ledger

	// busy is true while a job for the zone is under way.
	busy bool
	// known is false until the zone was read, and after an error that leaves open what it
	// has; verifyAt is when it is read again at the latest.
	known  bool
	listed bool
	// fresh is true from a listing until it is known whether there is anything to do.
	fresh    bool
	verifyAt time.Time
	// reading and writing are what went wrong with either; applyAt is the provider's pace.
	reading, writing trouble
	applyAt          time.Time
	// limit is how many names go into a batch, less after one was rejected; 0 is no limit.
	limit int
	// proposed are the names with changes that a dry run left alone.
	proposed map[string]group
}

// trouble is what went wrong with an operation, since it last went well.
type trouble struct {
	failures int
	// retryAt is when it may be tried again.
	retryAt time.Time
	err     error
}

// jailed is a name whose changes failed by themselves.
type jailed struct {
	until    time.Time
	failures int
	message  string
}

func newZone(z dns.Zone) *zone {
	return &zone{
		Zone: z, mirror: newMirror(),
		wanted: map[string][]*dns.RecordSet{}, dirty: map[string]struct{}{}, queue: newQueue(), gated: map[string]struct{}{}, jail: map[string]*jailed{},
		orphans: map[string]int{}, attempts: map[string][]*dns.RecordSet{}, disowned: map[string][]dns.Change{},
		conflicts: map[string]string{}, proposed: map[string]group{}, budget: newLedger(),
	}
}

// touch has a name planned again.
func (z *zone) touch(name string) {
	z.dirty[name] = struct{}{}
	delete(z.jail, name)
	delete(z.wanted, name)
}

// nextDue returns when the zone wants to be looked at, or the latest time given.
func (z *zone) nextDue(latest time.Time) time.Time {
	if z.busy {
		return latest
	}
	due := z.verifyAt
	if !z.known {
		due = time.Time{}
	} else if len(z.dirty) > 0 || z.queue.ready() {
		due = earliest(due, later(z.applyAt, z.writing.retryAt))
	}
	for _, j := range z.jail {
		due = earliest(due, j.until)
	}
	return earliest(latest, later(due, z.reading.retryAt))
}

// step starts what is due in a zone, if anything is.
func (p *Publisher) step(z *zone, now time.Time) {
	if z.busy || now.Before(z.reading.retryAt) {
		return
	}
	if !z.known || !now.Before(z.verifyAt) {
		p.listRecords(z)
		return
	}
	for name, j := range z.jail {
		if !now.Before(j.until) {
			z.dirty[name] = struct{}{}
			j.until = now.Add(p.Interval)
		}
	}
	if now.Before(z.writing.retryAt) {
		return
	}
	if len(z.dirty) > 0 {
		if p.adjust(z) {
			return
		}
		p.planDirty(z, now)
	}
	if z.fresh && !z.queue.ready() {
		p.Metrics.noOps.Inc()
		p.Metrics.lastSync.SetToCurrentTime()
	}
	if z.fresh {
		z.fresh = false
		p.verify()
	}
	if !now.Before(z.applyAt) {
		p.apply(z)
	}
}

// verify counts the record sets that are asked for and there, after a look at a zone that
// found that something has changed.
func (p *Publisher) verify() {
	if !p.unverified {
		return
	}
	p.unverified = false
	there := map[string]int{}
	for name := range p.Desired.Names() {
		z := p.land.zoneOf(name)
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

// touch has a name planned again in the zone that has it.
func (p *Publisher) touch(name string) {
	if p.land == nil {
		return
	}
	if z := p.land.zoneOf(name); z != nil {
		z.touch(name)
		return
	}
	p.noZone(name)
}

func (p *Publisher) noZone(name string) {
	wanted := p.Desired.Want(name)
	if len(wanted) == 0 || !p.Domains.Match(name) {
		delete(p.homeless, name)
		return
	}
	if p.homeless[name] {
		return
	}
	p.homeless[name] = true
	const message = "no zone of the provider has this name: create the zone, or look at the zone filters"
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

// troubled has an operation wait for a while after an error that says nothing about single
// records.
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

// providerFailed counts an error of the provider, and says it when it is a new one.
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

// backoff returns how long to wait after a number of failures before the present one.
func backoff(failures int, most time.Duration) time.Duration {
	return min(firstBackoff<<min(failures, 20), max(most, firstBackoff))
}
