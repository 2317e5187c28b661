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
	"github.com/signpostd/signpost/internal/channel"
)

// lookupTime is how long [Publisher.Once] waits for lookups of objects, such as that of the
// addresses behind a load balancer's name.
const lookupTime = 15 * time.Second

// onceState is set when the loop ends as soon as there is nothing left to do.
type onceState struct {
	// settled is closed when no further source will be read.
	settled <-chan struct{}
	// patience is when to stop waiting for lookups.
	patience time.Time
	errs     []error
	result   []ZonePlan
}

// ErrHeld is the error of [Publisher.Once] when the budget doesn't allow the deletions.
var ErrHeld = errors.New("deletions are held")

// ZonePlan is the outcome of [Publisher.Once] for a zone.
type ZonePlan struct {
	Zone dns.Zone
	// Changes are the changes that a dry run didn't make.
	Changes []dns.Change
	// Held is the hash of the deletions in HeldChanges, which the budget doesn't allow. It is
	// empty if there are none.
	Held        string
	HeldChanges []dns.Change
	// Waiting has the names that are not as they should be, with the reasons.
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

// Once makes the zones have what objects ask for, and returns; in a dry run it only finds out
// the changes. Settled is closed when the tables of all sources have been filled, or can't be.
// Once returns plans even if there is an error. Call it instead of Run.
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

// done reports whether there is nothing left to do. Then it stores the result.
func (o *onceState) done(p *Publisher) bool {
	if o == nil || !channel.IsClosed(o.settled) || p.waiting || p.zoneList.busy || (p.zones == nil && p.zoneList.err == nil) {
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
	for _, z := range p.zones.all() {
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
			message = "a lookup did not end in time"
		}
		o.fail(fmt.Errorf("evaluate %s %s/%s: %s", origin.Source, origin.Namespace, origin.Name, message))
	}
	zones := slices.SortedFunc(maps.Values(p.zones.all()), func(a, b *zone) int { return compareZones(a.Zone, b.Zone) })
	for _, z := range zones {
		if z.budget.held != "" {
			o.fail(fmt.Errorf("zone %s: %d %w: to make them, give --approve-plan=%s", z.Name, z.budget.planned(), ErrHeld, z.budget.held))
		}
		o.result = append(o.result, z.plan())
	}
}

// hopeless reports whether the zone has an error, after which Once doesn't try again.
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
		result.Waiting[name] = "a source or an object could not be read"
	}
	maps.Copy(result.Waiting, z.conflicts)
	for name, j := range z.postponed {
		result.Waiting[name] = j.message
	}
	return result
}

func compareZones(a, b dns.Zone) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
}
