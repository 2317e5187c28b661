package publisher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/panics"
)

// Publisher maintains the zones of one provider. [New] creates it, and Run runs it. It changes
// zones only while Lead is called.
type Publisher struct {
	Config
	intake *intake
	// results passes the results of jobs to the loop. terms passes the terms of Lead.
	results chan func()
	terms   chan term
	jobs    sync.WaitGroup
	// visits passes functions of inspections to the loop. stopped is closed when the loop has ended.
	visits  chan func()
	stopped chan struct{}
	// rowWindows has what the next pages of rows need.
	rowWindows rowWindows

	// The loop owns all fields below.

	sources []sourceState
	// unresolved has the error of each object that has never been evaluated successfully.
	unresolved map[desired.Origin]unresolved
	// statusAt is when to check the tables again.
	statusAt time.Time
	// pendingRemovals are the deleted objects of optional kinds, with the time of deletion.
	pendingRemovals map[desired.Origin]time.Time
	// lastPass is when objects were last evaluated. intakePending is true if the intake has objects
	// since then. backlog has the objects to evaluate.
	lastPass      time.Time
	intakePending bool
	backlog       *backlog
	// unzonedLog and faultyLog limit the log lines about unzoned names, and about parts of objects
	// that can't be used.
	unzonedLog, faultyLog lineLimit
	// firstRead is when any source was first read. sourcesEvaluated is true once every source has been
	// evaluated or is no longer awaited. Nothing is planned before.
	firstRead        time.Time
	sourcesEvaluated bool

	term     *term
	zoneList zoneList
	// zones is nil until the zones have been listed. zonesChange counts their changes.
	zones       *zoneSet
	zonesChange int
	// changedNames are the names whose wanted record sets have changed in this pass of the loop.
	changedNames []string
	// unverified is true while the metric of verified records may be out of date.
	unverified bool
	// metricsStale is true if the metrics of the wanted record sets are out of date. filtered is true
	// if the domain filter excludes all wanted names.
	metricsStale, filtered bool
	troubles               atomic.Pointer[[]Trouble]
	// unzoned has the wanted names that are in no zone of the provider, with the message to their objects.
	unzoned map[string]string
	budgets budgetState
	// capabilities are those of the provider. batchSize, batchInterval and maxConcurrentCalls are the
	// stricter of its limits and the user's. batchSize doesn't count ownership records.
	capabilities       provider.Capabilities
	batchSize          int
	batchInterval      time.Duration
	maxConcurrentCalls int
	// listingTime is how long a listing of a zone is used.
	listingTime time.Duration
	// limiter limits the calls of the provider per second. Any goroutine may use it.
	limiter *rate.Limiter
	// calls is the number of running calls of the provider, and failingCalls that of those for zones that
	// failed before. Until throttledUntil no other may begin. throttles counts the throttled calls in a
	// row, and throttle is the error of a pause that is shown.
	calls          int
	failingCalls   int
	throttledUntil time.Time
	throttles      int
	throttle       error
	objectProblems objectProblems

	// instance is the last argument of SetInstance.
	instance atomic.Pointer[string]

	// once is set if the loop has to end as soon as nothing is left to do.
	once *onceState
	// followers are notified of changed names; mostly there are none.
	followers map[*Follower]struct{}
	memo      memo
	// panics confines panics of sources and of the provider to the object or call.
	panics *panics.Reporter
}

type sourceState struct {
	// read is true once all objects of the source are known.
	read bool
	// open is true once its objects may be evaluated: its tables are filled, or no longer awaited.
	// Until then its changed objects stay in the intake.
	open bool
	// refused is when the API server first refused to let one of its tables be read.
	refused time.Time
	// conditions has the errors of the source's tables at the last check. readableSince has the time
	// since which each namespace is readable; none for an unreadable one.
	conditions    conditions
	readableSince map[string]time.Time
	// For a polled source: the time of the next poll, and whether one is running.
	pollAt  time.Time
	polling bool
	// err says why the source can't be read, and stay which records are kept because of that.
	err  error
	stay string
}

// term is a period in which this process may write.
type term struct {
	ctx context.Context
	// finished is closed when all jobs of the term have ended.
	finished chan struct{}
	jobs     *sync.WaitGroup
}

// New returns a publisher. Run starts it.
func New(c Config) (*Publisher, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("make the publisher %q: %w", c.Name, err)
	}
	can := c.Provider.Capabilities()
	batchSize := cmp.Or(provider.Stricter(can.BatchSize, c.Limits.BatchSize), defaultBatch)
	if _, inZones := c.Owner.(*owner.TXT); inZones {
		// Each change of a record set may come with a change of its ownership record.
		batchSize = max(batchSize/2, 1)
	}
	p := &Publisher{
		Config:             c,
		capabilities:       can,
		batchSize:          batchSize,
		batchInterval:      max(can.BatchInterval, c.Limits.BatchInterval),
		listingTime:        max(c.Interval, cmp.Or(c.Limits.ListingTime, can.ListingTime)),
		maxConcurrentCalls: provider.Stricter(can.Calls, defaultCalls),
		limiter:            newLimiter(provider.Stricter(can.CallsPerSecond, c.Limits.CallsPerSecond)),

		intake:          &intake{dirty: map[int]map[source.Key]struct{}{}, wake: make(chan struct{}, 1)},
		backlog:         newBacklog(),
		results:         make(chan func()),
		visits:          make(chan func()),
		stopped:         make(chan struct{}),
		terms:           make(chan term),
		sources:         make([]sourceState, len(c.Sources)),
		unresolved:      map[desired.Origin]unresolved{},
		unzoned:         map[string]string{},
		pendingRemovals: map[desired.Origin]time.Time{},
		budgets:         newBudgetState(&c),
		panics:          panics.New(c.Log, c.Metrics.panics),
	}
	// A counter that only appears with the first panic would start at one, and no alert would see it
	// rise.
	c.Metrics.panics.WithLabelValues(atProvider)
	for _, s := range c.Sources {
		c.Metrics.panics.WithLabelValues(s.Name)
	}
	return p, nil
}

// Run evaluates objects until ctx ends, and changes zones while Lead is called. It must be called
// only once.
func (p *Publisher) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer close(p.stopped)
	defer p.drain()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.intake.wake:
			p.intakePending = true
		case f := <-p.results:
			if ctx.Err() != nil {
				return nil // what the stop interrupted is no failure of the provider
			}
			f()
		case f := <-p.visits:
			p.visited(f)
			continue
		case t := <-p.terms:
			p.begin(t)
		case r := <-p.Approvals.Requests():
			p.approve(r, time.Now())
		case <-p.ended():
			p.end()
		case <-p.once.settling():
		case <-timer.C:
		}
		now := time.Now()
		p.work(ctx, now)
		if p.once.done(p, now) {
			return nil
		}
		timer.Reset(max(0, p.nextDue(now).Sub(now)))
	}
}

// Lead lets the publisher change zones until ctx ends. It returns when all writes have ended. Run
// must be running.
func (p *Publisher) Lead(ctx context.Context) error {
	t := term{ctx: ctx, finished: make(chan struct{}), jobs: new(sync.WaitGroup)}
	select {
	case p.terms <- t:
	case <-ctx.Done():
		return nil
	}
	<-ctx.Done()
	<-t.finished
	return nil
}

// ended returns a channel that is closed at the end of the current term.
func (p *Publisher) ended() <-chan struct{} {
	if p.term == nil {
		return nil
	}
	return p.term.ctx.Done()
}

func (p *Publisher) begin(t term) {
	p.term = &t
	p.Approvals.Begin(time.Now())
	p.takeInstance()
	p.resetFollowers()
	// Another process may write meanwhile, so the zones and the registry must be read again.
	p.zones = nil
	if o, ok := p.Owner.(owner.Outside); ok {
		o.Outdate()
	}
	p.zoneList = zoneList{}
	p.unzoned = map[string]string{}
	p.budgets.beginTerm(time.Now())
	p.sendProblems()
}

func (p *Publisher) end() {
	t := p.term
	p.term = nil
	p.rowWindows.reset()
	p.resetFollowers()
	for _, z := range p.zones.all() {
		// After the term these would never be reported.
		p.confirmed(slices.Concat(z.confirming, z.unconfirmed))
	}
	p.Metrics.end(p.zones.all())
	p.zones = nil
	p.Approvals.End()
	p.Metrics.storeFailed.Set(0)
	go func() {
		t.jobs.Wait()
		close(t.finished)
	}()
}

// drain waits for the jobs that are still running when the loop ends. If the term ends with the process, the
// loop may not have noticed its end.
func (p *Publisher) drain() {
	if p.term != nil && p.once == nil {
		p.end()
	}
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
				close(p.term.finished)
			}
			return
		}
	}
}

// start runs a job in a goroutine, and then in the loop the function that the job returns.
func (p *Publisher) start(job func() (found func())) {
	p.jobs.Add(1)
	go func() {
		defer p.jobs.Done()
		p.results <- job()
	}()
}

// startCall is startInTerm for a job that calls the provider, for a zone or, without one, for all.
func (p *Publisher) startCall(z *zone, limit time.Duration, job func(context.Context) (found func())) {
	failing := 0
	if z != nil && z.failed() {
		failing = 1
	}
	p.calls++
	p.failingCalls += failing
	p.startJob(limit, job, func() {
		p.calls--
		p.failingCalls -= failing
	})
}

// startInTerm is start for a job that belongs to the term. If the term has ended, its result is
// dropped.
func (p *Publisher) startInTerm(limit time.Duration, job func(context.Context) (found func())) {
	p.startJob(limit, job, func() {})
}

func (p *Publisher) startJob(limit time.Duration, job func(context.Context) (found func()), ended func()) {
	t := p.term
	t.jobs.Add(1)
	p.start(func() func() {
		defer t.jobs.Done()
		ctx, cancel := context.WithTimeout(t.ctx, limit)
		defer cancel()
		found := job(ctx)
		return func() {
			ended()
			if p.term == t {
				found()
			}
		}
	})
}

// atProvider is the unit of the provider's calls in the metric of panics.
const atProvider = "provider"

// contained calls the provider. A panic is returned as an error. As after any error, the provider's
// state is then unknown.
func contained[T any](p *Publisher, f func() (T, error)) (result T, err error) {
	err = p.panics.Catch(atProvider, func() (err error) {
		result, err = f()
		return err
	})
	return result, err
}

// noMetrics is the note function of names that a budget doesn't count.
func noMetrics(string, []dns.Change) {}

// work does everything that is due, without waiting.
func (p *Publisher) work(ctx context.Context, now time.Time) {
	p.memo = memo{}
	p.pollSources(ctx, now)
	p.watchTables(now)
	p.readObjects(now)
	p.touchChanged()
	p.unzonedLog.reset(p.Log, "Can't publish further records whose names are in no zone")
	p.faultyLog.reset(p.Log, "Ignore further parts of objects that can't be used")
	// Most of these numbers result from planning, so they are taken last.
	defer p.noteTroubles()
	defer p.count()
	if p.term == nil {
		return
	}
	p.listZones(now)
	// Writes come before listings, which may use up the permitted calls.
	for _, z := range p.zones.all() {
		if z.names.count(dirty, planned) > 0 {
			p.step(z, now)
		}
	}
	for _, z := range p.zones.all() {
		p.step(z, now)
	}
	p.syncBudgets(now)
	if _, unplanned := p.Approvals.Unplanned(); unplanned && p.planned() {
		p.Approvals.Planned()
	}
}

func (p *Publisher) count() {
	if p.metricsStale {
		p.metricsStale = false
		p.Metrics.desired(p.Desired)
		p.filtered = p.filtersAll()
	}
}

// filtersAll reports whether the domain filter excludes all wanted names.
func (p *Publisher) filtersAll() bool {
	for name := range p.Desired.Names() {
		if p.Domains.Match(name) {
			return false
		}
	}
	return p.Desired.Len() > 0
}

// nextDue returns the next time at which work is due, unless an event comes before.
func (p *Publisher) nextDue(now time.Time) time.Time {
	due := earliest(now.Add(p.Interval), p.statusAt)
	if p.once != nil {
		due = earliest(due, p.once.limit.End())
	}
	switch {
	case p.backlog.len() > 0:
		due = now
	case p.intakePending:
		due = earliest(due, p.lastPass.Add(quiet))
	}
	for i := range p.sources {
		switch s := &p.sources[i]; {
		case p.Sources[i].Poll == nil && !s.read:
			due = earliest(due, now.Add(settling))
		case p.Sources[i].Poll != nil && !s.polling:
			due = earliest(due, s.pollAt)
		}
		if !p.sourcesEvaluated {
			due = earliest(due, now.Add(settling))
		}
	}
	if p.term == nil {
		return due
	}
	if !p.zoneList.busy {
		due = earliest(due, later(p.zoneList.due, p.throttledUntil))
	}
	due = p.budgets.due(due)
	if p.calls >= p.maxConcurrentCalls {
		return due // the end of a call comes first
	}
	for _, z := range p.zones.all() {
		due = earliest(due, later(p.nextDueIn(z, due), p.throttledUntil))
	}
	if missing := 1 - p.limiter.Tokens(); missing > 0 {
		due = later(due, now.Add(time.Duration(missing/float64(p.limiter.Limit())*float64(time.Second))))
	}
	return due
}

// newLimiter returns a limiter of calls per second; zero means no limit.
func newLimiter(callsPerSecond float64) *rate.Limiter {
	if callsPerSecond == 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(callsPerSecond), max(1, int(callsPerSecond)))
}

// later returns the later of two times, and earliest the earlier one.
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

// Reevaluate evaluates all objects of a namespace again, because the names that it may publish have
// changed. It may be called from any goroutine.
func (p *Publisher) Reevaluate(namespace string) {
	for i := range p.Sources {
		if p.Sources[i].Keys == nil {
			continue
		}
		for _, key := range p.Sources[i].Keys() {
			if key.Namespace == namespace {
				p.intake.add(i, key)
			}
		}
	}
}

// Changed returns the function that a source calls for each object that has to be evaluated. place
// is the index of the source in [Config.Sources].
func Changed(p func() *Publisher, place int) func(source.Key) {
	return func(k source.Key) { p().intake.add(place, k) }
}
