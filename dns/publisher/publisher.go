package publisher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
)

// Publisher keeps the zones of one provider. Make one with [New]; Run it, and have it Lead
// while it may write.
type Publisher struct {
	Config
	intake *intake
	// results are what jobs have found, to be run by the loop; terms begin the leading.
	results chan func()
	terms   chan term
	jobs    sync.WaitGroup

	// All below belongs to the loop.

	sources []sourceState
	// unresolved are the objects that have never been evaluated without an error.
	unresolved map[desired.Origin]string
	// statusAt is when it is looked again whether tables can be read.
	statusAt time.Time
	// departing are the objects of kinds that a cluster may lack that ask for nothing any
	// more, with the time since when.
	departing map[desired.Origin]time.Time
	// pass is when objects were last evaluated; waiting that some have come in since.
	pass    time.Time
	waiting bool

	term     *term
	zoneList zoneList
	// land is nil until the zones have been listed.
	land *territory
	// unverified is true when something was asked for, or changed in a zone, since the records
	// that are there as they should be were counted.
	unverified bool
	// uncounted is true when metrics don't show yet what objects ask for.
	uncounted bool
	// homeless are the names that no zone has.
	homeless map[string]bool
	// once is set when the loop is to end as soon as there is nothing left to do.
	once *onceState
}

// sourceState is how far a source has been read.
type sourceState struct {
	// read is true once everything in it is known.
	read bool
	// conditions say whether its tables could be read when that was looked at last, steady
	// since when they can; there is no time for what can't.
	conditions conditions
	steady     map[string]time.Time
	// For a source that is polled: when next, whether that is under way, and the last error.
	pollAt  time.Time
	polling bool
	err     error
}

// term is a time in which this process may write.
type term struct {
	ctx context.Context
	// over is closed when nothing of the term is under way any more.
	over chan struct{}
	jobs *sync.WaitGroup
}

// New returns a publisher that does nothing yet.
func New(c Config) (*Publisher, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("make the publisher %q: %w", c.Name, err)
	}
	return &Publisher{
		Config:     c,
		intake:     newIntake(),
		results:    make(chan func()),
		terms:      make(chan term),
		sources:    make([]sourceState, len(c.Sources)),
		unresolved: map[desired.Origin]string{},
		departing:  map[desired.Origin]time.Time{},
		homeless:   map[string]bool{},
	}, nil
}

// Run evaluates objects, and writes while Lead is called, until ctx ends. It is called once.
func (p *Publisher) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer p.drain()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.intake.wake:
			p.waiting = true
		case f := <-p.results:
			f()
		case t := <-p.terms:
			p.begin(t)
		case <-p.ended():
			p.end()
		case <-timer.C:
		}
		now := time.Now()
		p.work(ctx, now)
		if p.once.done(p) {
			return nil
		}
		timer.Reset(max(0, p.nextDue(now).Sub(now)))
	}
}

// Lead lets the publisher write until ctx ends, and returns when nothing is under way any
// more. Run has to be running.
func (p *Publisher) Lead(ctx context.Context) error {
	t := term{ctx: ctx, over: make(chan struct{}), jobs: new(sync.WaitGroup)}
	select {
	case p.terms <- t:
	case <-ctx.Done():
		return nil
	}
	<-ctx.Done()
	<-t.over
	return nil
}

// ended returns what closes when the present term is at its end.
func (p *Publisher) ended() <-chan struct{} {
	if p.term == nil {
		return nil
	}
	return p.term.ctx.Done()
}

func (p *Publisher) begin(t term) {
	p.term = &t
	// What another process wrote meanwhile isn't in the mirrors: everything is read again.
	p.land = nil
	p.zoneList = zoneList{}
	p.homeless = map[string]bool{}
}

func (p *Publisher) end() {
	t := p.term
	p.term = nil
	go func() {
		t.jobs.Wait()
		close(t.over)
	}()
}

// drain waits for what is under way when the loop has ended.
func (p *Publisher) drain() {
	done := make(chan struct{})
	go func() {
		p.jobs.Wait()
		close(done)
	}()
	for {
		select {
		case <-p.results:
		case <-done:
			if p.term != nil {
				close(p.term.over)
			}
			return
		}
	}
}

// start runs a job beside the loop, and then what it returns in the loop.
func (p *Publisher) start(job func() (found func())) {
	p.jobs.Add(1)
	go func() {
		defer p.jobs.Done()
		p.results <- job()
	}()
}

// startWrite is start for a job that talks to the provider: it belongs to the term, and
// what it finds after the end of the term is dropped.
func (p *Publisher) startWrite(limit time.Duration, job func(context.Context) (found func())) {
	t := p.term
	t.jobs.Add(1)
	p.start(func() func() {
		defer t.jobs.Done()
		ctx, cancel := context.WithTimeout(t.ctx, limit)
		defer cancel()
		found := job(ctx)
		return func() {
			if p.term == t {
				found()
			}
		}
	})
}

// work does all that is due, without waiting for anything.
func (p *Publisher) work(ctx context.Context, now time.Time) {
	p.pollSources(ctx, now)
	p.watchTables(now)
	p.readObjects(now)
	// Last, as planning does most of the counting.
	defer p.count()
	if p.term == nil {
		return
	}
	p.listZones(now)
	for _, z := range p.land.all() {
		p.step(z, now)
	}
}

func (p *Publisher) count() {
	if p.uncounted {
		p.uncounted = false
		p.Metrics.desired(p.Desired)
	}
}

// nextDue returns when there is something to do if nothing happens until then.
func (p *Publisher) nextDue(now time.Time) time.Time {
	due := earliest(now.Add(p.Interval), p.statusAt)
	if p.waiting {
		due = earliest(due, p.pass.Add(quiet))
	}
	for i := range p.sources {
		switch s := &p.sources[i]; {
		case p.Sources[i].Poll == nil && !s.read:
			due = earliest(due, now.Add(settling))
		case p.Sources[i].Poll != nil && !s.polling:
			due = earliest(due, s.pollAt)
		}
	}
	if p.term == nil {
		return due
	}
	if !p.zoneList.busy {
		due = earliest(due, p.zoneList.due)
	}
	for _, z := range p.land.all() {
		due = earliest(due, z.nextDue(due))
	}
	return due
}

// later and earliest return one of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Changed returns what a source has to call for each object that is to be evaluated; it is
// for the source at this place of [Config.Sources].
func Changed(p func() *Publisher, place int) func(source.Key) {
	return func(k source.Key) { p().intake.add(place, k) }
}
