package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
)

// lookupTime is how long [Publisher.Once] waits for what objects refer to, such as the
// addresses of a load balancer's name.
const lookupTime = 15 * time.Second

// onceState is kept while the loop is to end when nothing is left to do.
type onceState struct {
	// settled is closed when no more sources will be read.
	settled <-chan struct{}
	// patience is when to stop waiting for what objects refer to.
	patience time.Time
	errs     []error
	result   []ZonePlan
}

// ErrHeld is the error of [Publisher.Once] for deletions that the budget doesn't allow.
var ErrHeld = errors.New("deletions are held")

// ZonePlan is what was changed in a zone, or would be, and what is held back.
type ZonePlan struct {
	Zone dns.Zone
	// Changes are those that a dry run would have made.
	Changes []dns.Change
	// Held is the hash of deletions that the budget doesn't allow, which are HeldChanges.
	Held        string
	HeldChanges []dns.Change
	// Waiting has the reason for each name of which something can't be done.
	Waiting map[string]string
}

func (o *onceState) fail(err error) {
	for _, known := range o.errs {
		if known.Error() == err.Error() {
			return
		}
	}
	o.errs = append(o.errs, err)
}

// Once brings the zones up to date, in a dry run finds out what that would be, and
// returns. Settled is closed when the tables of all sources have been filled, or can't be.
// The error is what went wrong; the plans are there all the same. It is in place of Run.
func (p *Publisher) Once(ctx context.Context, settled <-chan struct{}) ([]ZonePlan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.once = &onceState{settled: settled, patience: time.Now().Add(lookupTime)}
	t := term{ctx: ctx, over: make(chan struct{}), jobs: new(sync.WaitGroup)}
	p.begin(t)
	if err := p.Run(ctx); err != nil {
		return nil, err
	}
	return p.once.result, errors.Join(append(p.once.errs, ctx.Err())...)
}

// done reports whether there is nothing left to do, and then notes how things stand.
func (o *onceState) done(p *Publisher) bool {
	if o == nil || !isClosed(o.settled) || p.waiting || p.zoneList.busy || (p.land == nil && p.zoneList.err == nil) {
		return false
	}
	for i := range p.sources {
		s := &p.sources[i]
		if s.polling || (p.Sources[i].Poll != nil && !s.read && s.err == nil) || (p.Sources[i].Poll == nil && !s.read && p.allFilled(p.Sources[i].Source)) {
			return false
		}
	}
	if len(p.departing) > 0 && time.Now().Before(o.patience) {
		return false
	}
	for _, message := range p.unresolved {
		if message == "" && time.Now().Before(o.patience) {
			return false
		}
	}
	for _, z := range p.land.all() {
		if z.busy || !z.hopeless() && (!z.known || len(z.dirty) > 0 || z.queue.ready()) {
			return false
		}
	}
	o.conclude(p)
	return true
}

func (o *onceState) conclude(p *Publisher) {
	for i := range p.sources {
		name, s := p.Sources[i].Name, &p.sources[i]
		switch {
		case s.read:
		case s.err == nil:
			o.fail(fmt.Errorf("source %s could not be read: nothing is deleted or taken away", name))
		case p.Sources[i].Poll == nil: // the error of a poll is known
			o.fail(fmt.Errorf("source %s: %w: nothing is deleted or taken away", name, s.err))
		}
	}
	for origin, message := range p.unresolved {
		if message == "" {
			message = "what it refers to could not be found out in time"
		}
		o.fail(fmt.Errorf("evaluate %s %s/%s: %s", origin.Source, origin.Namespace, origin.Name, message))
	}
	zones := slices.SortedFunc(maps.Values(p.land.all()), func(a, b *zone) int { return compareZones(a.Zone, b.Zone) })
	for _, z := range zones {
		if z.budget.held != "" {
			o.fail(fmt.Errorf("zone %s: %d %w: --approve-plan=%s makes them", z.Name, z.budget.planned(), ErrHeld, z.budget.held))
		}
		o.result = append(o.result, z.plan())
	}
}

// hopeless reports whether something went wrong that would have to be waited for.
func (z *zone) hopeless() bool { return z.reading.err != nil || z.writing.err != nil }

func (z *zone) plan() ZonePlan {
	result := ZonePlan{Zone: z.Zone, Waiting: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(z.proposed)) {
		result.Changes = append(result.Changes, z.proposed[name].changes...)
		result.Changes = append(result.Changes, z.proposed[name].orphans...)
	}
	if result.Held = z.budget.held; result.Held != "" {
		open := z.budget.open()
		for _, name := range slices.Sorted(maps.Keys(open)) {
			for _, c := range open[name].changes {
				if c.New == nil {
					result.HeldChanges = append(result.HeldChanges, c)
				}
			}
		}
	}
	for name := range z.gated {
		result.Waiting[name] = "not everything that asks for records could be read"
	}
	maps.Copy(result.Waiting, z.conflicts)
	for name, j := range z.jail {
		result.Waiting[name] = j.message
	}
	return result
}

func compareZones(a, b dns.Zone) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
