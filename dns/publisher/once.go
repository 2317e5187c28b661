package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/channel"
)

// lookupTime is how long [Publisher.Once] waits for lookups, such as the addresses behind a load
// balancer's hostname.
const lookupTime = 15 * time.Second

// onceState is set if the loop ends as soon as nothing is left to do.
type onceState struct {
	// settled is closed when no further source will be read.
	settled <-chan struct{}
	// stop cancels the running calls of the provider.
	stop context.CancelFunc
	// limit is how long the loop may take.
	limit TimeLimit
	// lookupDeadline is when to stop waiting for lookups.
	lookupDeadline time.Time
	errs           []error
	result         []ZonePlan
}

// ErrHeld is the error of [Publisher.Once] when the budget doesn't allow all changes.
var ErrHeld = errors.New("changes are held")

// ZonePlan is the result of [Publisher.Once] for a zone.
type ZonePlan struct {
	Zone dns.Zone
	// Done is true if the zone was read and every change was made or, in a dry run, found.
	Done bool
	// Changes are the changes that a dry run would make.
	Changes []dns.Change
	// Held is the hash of HeldChanges, which exceed the budget. It is empty if there are none.
	Held        string
	HeldChanges []dns.Change
	// Waiting has the names whose wanted record sets aren't published, in order. Names with held
	// changes are in HeldChanges.
	Waiting []State
	// NotOurs says which wanted records the zone has under another owner, and what to do.
	NotOurs []string
}

func (o *onceState) fail(err error) {
	for _, known := range o.errs {
		if known.Error() == err.Error() {
			return
		}
	}
	o.errs = append(o.errs, err)
}

// Once publishes the wanted record sets and returns. In a dry run it only plans them. settled is
// closed when the tables of all sources have been filled, or can't be. Once takes no longer than
// limit; the error then names what is unfinished. It returns plans even if there is an error. Call
// it instead of Run.
func (p *Publisher) Once(ctx context.Context, settled <-chan struct{}, limit TimeLimit) ([]ZonePlan, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	p.once = &onceState{settled: settled, stop: stop, limit: limit, lookupDeadline: time.Now().Add(lookupTime)}
	t := term{ctx: running, finished: make(chan struct{}), jobs: new(sync.WaitGroup)}
	p.begin(t)
	if err := p.Run(running); err != nil {
		return nil, err
	}
	return p.once.result, errors.Join(append(p.once.errs, ctx.Err())...)
}

// settling returns a channel that is closed when no further source will be read. It is nil if the
// loop runs forever, and after the channel was closed.
func (o *onceState) settling() <-chan struct{} {
	if o == nil || channel.IsClosed(o.settled) {
		return nil
	}
	return o.settled
}

// done reports whether nothing is left to do, or no time is left. Then it stores the result.
func (o *onceState) done(p *Publisher, now time.Time) bool {
	switch {
	case o == nil:
		return false
	case o.idle(p):
	case now.Before(o.limit.End()):
		return false
	default:
		o.noteUnfinished(p)
	}
	o.conclude(p)
	o.stop()
	return true
}

// idle reports whether nothing is left to do.
func (o *onceState) idle(p *Publisher) bool {
	if !channel.IsClosed(o.settled) || p.intakePending || p.backlog.len() > 0 || p.zoneList.busy || !p.budgets.settled() || (p.zones == nil && p.zoneList.err == nil) {
		return false
	}
	for i := range p.sources {
		s := &p.sources[i]
		if s.polling || (p.Sources[i].Poll != nil && !s.read && s.err == nil) || p.fills(i) {
			return false
		}
	}
	if len(p.pendingRemovals) > 0 && time.Now().Before(o.lookupDeadline) {
		return false
	}
	for _, why := range p.unresolved {
		if why.pending && time.Now().Before(o.lookupDeadline) {
			return false
		}
	}
	for _, z := range p.zones.all() {
		if z.busy || !z.failed() && !z.done() {
			return false
		}
	}
	return true
}

// noteUnfinished adds an error for each call that the provider has not finished within the limit.
// Unread sources are added by conclude.
func (o *onceState) noteUnfinished(p *Publisher) {
	if p.zones == nil {
		o.fail(fmt.Errorf("list the zones: the provider has not answered within %s", o.limit))
	}
	for _, z := range p.zones.sorted() {
		switch {
		case z.failed():
		case !z.upToDate:
			o.fail(fmt.Errorf("list zone %s: the provider has not answered within %s", cmp.Or(z.Name, "."), o.limit))
		case !z.done() && p.DryRun:
			o.fail(fmt.Errorf("plan zone %s: not everything that it depends on was read or compared within %s", z.Name, o.limit))
		case !z.done():
			o.fail(fmt.Errorf("write zone %s: the provider has not taken all changes within %s", z.Name, o.limit))
		}
	}
}

func (o *onceState) conclude(p *Publisher) {
	for i := range p.sources {
		if err := p.unread(i); err != nil {
			o.fail(fmt.Errorf("source %s: %w: nothing is deleted or taken away", p.Sources[i].Name, err))
		}
	}
	for origin, why := range p.unresolved {
		o.fail(fmt.Errorf("evaluate %s %s/%s: %s", origin.Source, origin.Namespace, origin.Name, why.message))
	}
	for _, z := range p.zones.sorted() {
		if z.ledger.Held() > 0 {
			o.fail(fmt.Errorf("zone %s: %d %w: to make them, give --approve-plan=%s", z.Name, z.ledger.Held(), ErrHeld, z.ledger.Plan().Hash))
		}
		if err := z.shares.err(); err != nil && !p.DryRun {
			o.fail(fmt.Errorf("zone %s: %w", z.Name, err))
		}
		result := z.plan()
		for _, problem := range []string{p.instancesProblem(z), p.unownedProblem(z)} {
			if problem != "" {
				result.NotOurs = append(result.NotOurs, problem)
			}
		}
		o.result = append(o.result, result)
	}
}

// unread returns why a source has not been read; nil if it was, or if its error is reported
// already.
func (p *Publisher) unread(i int) error {
	s, src := &p.sources[i], &p.Sources[i]
	switch {
	case s.read, src.Poll != nil && s.err != nil:
		return nil
	case src.Poll != nil:
		return fmt.Errorf("it has not answered within %s", p.once.limit)
	}
	if err := p.conditions(src.Needed()).err(); err != nil {
		return err
	}
	return fmt.Errorf("its objects were not read within %s", p.once.limit)
}

// failed reports whether the zone can't be read or written. Once doesn't try again.
func (z *zone) failed() bool { return z.failure().err != nil }

// done reports whether nothing is left to do in the zone, and nothing failed.
func (z *zone) done() bool {
	return z.upToDate && !z.busy && !z.failed() && z.names.count(dirty, asking, planned, applying) == 0
}

func (z *zone) plan() ZonePlan {
	result := ZonePlan{Zone: z.Zone, Done: z.done()}
	for _, n := range z.names.sorted(settled) {
		result.Changes = append(result.Changes, n.proposed.changes...)
		result.Changes = append(result.Changes, n.proposed.orphans...)
	}
	if z.ledger.Held() > 0 {
		held := z.ledger.Plan()
		result.Held, result.HeldChanges = held.Hash, held.Changes
	}
	for _, s := range z.states() {
		// Problems of the whole zone are among the errors.
		if s.Reason != "" && s.Reason != ReasonHeld && s.Reason != ReasonProvider {
			result.Waiting = append(result.Waiting, s)
		}
	}
	return result
}
