package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"

	"github.com/signpostd/signpost/controllers/writeclient"
	"github.com/signpostd/signpost/internal/panics"
	"github.com/signpostd/signpost/internal/tracing"
)

const (
	// refusedFirst is the shortest delay after a failure that an immediate retry can't fix.
	refusedFirst = time.Second
	// sharedFailureLimit caps the back-off of failures that may affect other Services too, until the circuit
	// breaker opens.
	sharedFailureLimit = time.Minute
	// spreadPeriod is the shortest time between two calls of [Options.ServicesIn] for a namespace. Queuing 10,000
	// Services takes milliseconds.
	spreadPeriod = 100 * time.Millisecond
	// persistent is the number of consecutive failures after which a Service is reported as failing
	// persistently.
	persistent = 15
)

type term struct {
	o      *Options
	panics *panics.Reporter
	queue  workqueue.TypedDelayingInterface[Key]
	log    *failureLog

	// The delays after conflicts, after refusals, after failures that may affect other Services, and after
	// failures of the API server.
	conflicts, refusals, ambiguous, outages workqueue.TypedRateLimiter[Key]

	workers sync.WaitGroup

	mu       sync.Mutex
	over     bool
	lanes    *lanes
	breakers *breakers
	// timers release the Services that wait at an open breaker.
	timers map[*breaker]*time.Timer
	// spreads has the namespaces whose Services are about to be queued.
	spreads map[string]*time.Timer
	// flights are the syncs under way.
	flights map[Key]*flight
	repairs map[Key]*repair
	writes  writes
}

// flight is a sync under way.
type flight struct {
	// slow is true if the namespace was slow before, and once the sync has taken longer than slowAfter. replaced
	// is true once another worker has started in the stead of its own.
	slow, replaced bool
	// yield ends the sync, and yielded is true once that has happened because there was no place for it.
	yield   context.CancelCauseFunc
	yielded bool
	// responded is true once the API server has carried out a request of the sync, or has refused it for a
	// reason that affects nothing else.
	responded bool
	// repairs is true if another writer has changed an object of the Service. repaired is true once the sync
	// has written because of that.
	repairs, repaired bool
	// requests are the writes so far.
	requests requests
}

type requests struct{ created, updated, deleted, failed int }

func (r *requests) count(operation string, err error) {
	switch {
	case err != nil:
		r.failed++
	case operation == "create":
		r.created++
	case operation == "update":
		r.updated++
	default:
		r.deleted++
	}
}

func newTerm(o *Options, caught *panics.Reporter) *term {
	delays := workqueue.NewTypedItemExponentialFailureRateLimiter[Key]
	return &term{
		o: o, panics: caught,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{
			Name: o.Name, MetricsProvider: o.Metrics.queues,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{
				Name: o.Name, MetricsProvider: o.Metrics.queues, Queue: newFairQueue(),
			}),
		}),
		log:       newFailureLog(o.Logger.With("controller", o.Name)),
		conflicts: delays(o.RetryFirst, o.RetryLimit),
		refusals:  delays(max(o.RetryFirst, refusedFirst), max(o.RetryLimit, refusedFirst)),
		ambiguous: delays(max(o.RetryFirst, refusedFirst), sharedFailureLimit),
		outages:   delays(probeFirst, probeLimit),
		lanes:     newLanes(o.Workers),
		breakers:  newBreakers(o.Workers),
		timers:    map[*breaker]*time.Timer{},
		spreads:   map[string]*time.Timer{},
		flights:   map[Key]*flight{},
		repairs:   map[Key]*repair{},
		writes:    writes{namespaces: map[string]bool{}, waiting: map[Key]Wait{}},
	}
}

// work is a worker.
func (t *term) work(ctx context.Context) {
	for t.next(ctx) {
	}
}

// next syncs one Service. It returns false when the term is over, or another worker has started instead.
func (t *term) next(ctx context.Context) bool {
	key, over := t.queue.Get()
	if over {
		return false
	}
	defer t.queue.Done(key)
	if ctx.Err() != nil {
		return false
	}
	finishing, finished := writeclient.Finishing(ctx)
	defer finished()
	syncing, yield := context.WithCancelCause(finishing)
	defer yield(nil)
	f := t.begin(ctx, key, yield)
	if f == nil {
		return true
	}
	stuck := time.AfterFunc(stuckAfter, func() { t.stuck(ctx, key, f) })
	defer stuck.Stop()
	slow := time.AfterFunc(slowAfter, func() { t.slow(ctx, key, f) })
	defer slow.Stop()
	begun := time.Now()
	span := t.o.Tracer.Begin("controllers.sync")
	err := t.panics.Catch(t.o.Name, func() error { return t.o.Sync(syncing, key) })
	took := time.Since(begun)
	if !t.hasYielded(key, err) {
		t.o.Metrics.observeSync(t.o.Name, took, err)
	}
	writes := t.requestsOf(key)
	t.log.synced(key, writes, took, err)
	t.trace(span, key, writes, err)
	if ctx.Err() != nil {
		return false
	}
	return !t.ended(key, err)
}

// requestsOf returns the writes of the sync under way.
func (t *term) requestsOf(key Key) requests {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flights[key]; f != nil {
		return f.requests
	}
	return requests{}
}

func (t *term) trace(span *tracing.Span, key Key, writes requests, err error) {
	if span == nil {
		return
	}
	span.Text("signpost.controller", t.o.Name)
	span.Text("signpost.service", key.String())
	span.Number("signpost.created", writes.created)
	span.Number("signpost.updated", writes.updated)
	span.Number("signpost.deleted", writes.deleted)
	span.Number("signpost.failed", writes.failed)
	span.End(err)
}

// begin starts the sync of a Service. It returns nil if the Service is held back, or waits for a place.
func (t *term) begin(ctx context.Context, key Key, yield context.CancelCauseFunc) *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if !t.lanes.begin(key, now) {
		t.writes.waits(key, now, errSlow)
		return nil
	}
	if !t.breakers.begin(key, now) {
		t.leaveLane(key)
		t.writes.waits(key, now, nil)
		t.schedule(key)
		return nil
	}
	f := &flight{yield: yield}
	if r := t.repairs[key]; r != nil {
		f.repairs, r.pending = r.pending, false
	}
	t.flights[key] = f
	if t.lanes.placed[key] {
		f.slow = true
		t.breakers.slow(key, now)
		t.replace(ctx, f)
	}
	return f
}

// replace starts a worker in the stead of the one of a sync.
func (t *term) replace(ctx context.Context, f *flight) {
	f.replaced = true
	t.workers.Go(func() { t.work(ctx) })
}

// stuck ends a sync without a response for which there is no place.
func (t *term) stuck(ctx context.Context, key Key, f *flight) {
	t.mu.Lock()
	is := !f.responded && t.lanes.isStuck(key)
	t.mu.Unlock()
	if is {
		t.slow(ctx, key, f)
	}
}

// slow lets other Services be synced while a sync takes long, or ends the sync if there is no place for it.
func (t *term) slow(ctx context.Context, key Key, f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.flights[key] != f {
		return
	}
	now := time.Now()
	if t.lanes.isSlow(key, now) {
		t.replace(ctx, f)
	} else if t.lanes.isStuck(key) {
		f.yielded = true
		f.yield(writeclient.ErrYield)
	}
	if !f.slow {
		f.slow = true
		t.breakers.slow(key, now)
		t.schedule(key)
	}
}

// hasYielded reports whether the error of a sync under way, or of a request of it, is due to [term.slow].
func (t *term) hasYielded(key Key, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return yieldedWith(t.flights[key], err)
}

func yieldedWith(f *flight, err error) bool {
	return f != nil && f.yielded && (errors.Is(err, writeclient.ErrYield) || errors.Is(err, context.Canceled))
}

// leaveLane lets the next Service of a slow namespace be synced.
func (t *term) leaveLane(key Key) {
	if next, ok := t.lanes.end(key); ok {
		t.queue.Add(next)
	}
}

// wrote records the result of a request.
func (t *term) wrote(key Key, operation string, err error) {
	now := time.Now()
	t.mu.Lock()
	f := t.flights[key]
	if f == nil {
		f = &flight{}
	}
	f.requests.count(operation, err)
	contested := false
	switch {
	case err == nil:
		f.responded = true
		t.writes.succeeded(now)
		contested = t.repaired(key, f, now)
	case scopeOf(err) == object:
		f.responded = true
		t.writes.responded()
	default:
		t.writes.refused(key, err, now)
	}
	t.mu.Unlock()
	if contested {
		t.log.contested(key)
		if t.o.Contested != nil {
			t.o.Contested(key)
		}
	}
}

// ended records the end of a sync, and queues the Service again if it failed. It reports whether
// another worker has replaced the one of the sync.
func (t *term) ended(key Key, err error) (replaced bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveLane(key)
	f := t.flights[key]
	delete(t.flights, key)
	if r := t.repairs[key]; r != nil && r.count == 0 && !r.pending {
		delete(t.repairs, key)
	}
	yielded := yieldedWith(f, err)
	how, reach := noWrite, object
	if err != nil && !yielded {
		reach = scopeOf(err)
	}
	switch {
	case f.responded:
		how = reached
	case reach != object:
		how = unreachable
	}
	v := t.breakers.end(key, f.slow, how, err, now)
	for _, o := range v.closed {
		t.log.closed(o.scope, o.outage)
	}
	if v.opened != "" {
		t.log.opened(v.opened, err)
	}
	switch {
	case err == nil:
		for _, delays := range t.delays() {
			delays.Forget(key)
		}
		delete(t.writes.waiting, key)
	case yielded:
		t.writes.waits(key, now, errSlow)
		t.queue.Add(key)
	default:
		t.writes.waits(key, now, err)
		if !v.held {
			if apierrors.IsTooManyRequests(err) {
				t.breakers.all.throttle()
			}
			t.queue.AddAfter(key, t.failed(key, reach, err))
		}
	}
	t.schedule(key)
	return f.replaced
}

func (t *term) delays() []workqueue.TypedRateLimiter[Key] {
	return []workqueue.TypedRateLimiter[Key]{t.conflicts, t.refusals, t.ambiguous, t.outages}
}

// failures returns how often in a row a Service has failed on its own.
func (t *term) failures(key Key) int {
	n := 0
	for _, delays := range t.delays() {
		n += delays.NumRequeues(key)
	}
	return n
}

// failed records a failure that affects only this Service, as far as is known, and returns the delay until
// the next sync.
func (t *term) failed(key Key, reach scope, err error) time.Duration {
	var delay time.Duration
	switch {
	case IsConflict(err):
		delay = t.conflicts.When(key)
	case reach == environment:
		delay = t.outages.When(key)
	case reach == ambiguous:
		delay = t.ambiguous.When(key)
	default:
		delay = t.refusals.When(key)
	}
	n := t.failures(key)
	if n == persistent {
		t.o.Metrics.persistent(t.o.Name)
	}
	t.log.failed(key, n, err)
	return max(delay, retryAfter(err))
}

// schedule releases Services that need no longer wait, from the breaker of all and from that of the
// namespace.
func (t *term) schedule(key Key) {
	t.release(t.breakers.all)
	if of := t.breakers.of[key.Namespace]; of != nil {
		t.release(of)
	}
	t.breakers.forgetIdle(key)
}

// release releases Services from a breaker, now and when the next probe is due.
func (t *term) release(g *breaker) {
	now := time.Now()
	untried, retried := g.release(now)
	for _, key := range untried {
		t.queue.Add(key)
	}
	for _, key := range retried {
		// Services that failed before the breaker opened, while others succeeded, keep their own delays.
		if n := t.failures(key); n > 0 {
			t.queue.AddAfter(key, backoff(refusedFirst, sharedFailureLimit, n-1))
		} else {
			t.queue.Add(key)
		}
	}
	if timer := t.timers[g]; timer != nil {
		timer.Stop()
		delete(t.timers, g)
	}
	if wake := g.wake(); !wake.IsZero() && !t.over {
		t.timers[g] = time.AfterFunc(wake.Sub(now), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if !t.over {
				t.release(g)
			}
		})
	}
}

// addNamespace queues all Services of a namespace soon.
func (t *term) addNamespace(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.spreads[namespace] != nil {
		return
	}
	t.spreads[namespace] = time.AfterFunc(max(t.o.BatchPeriod, spreadPeriod), func() {
		t.mu.Lock()
		over := t.over
		delete(t.spreads, namespace) // before the names are read: later changes lead to another call
		t.mu.Unlock()
		if over {
			return
		}
		for _, name := range t.o.ServicesIn(namespace) {
			t.queue.Add(Key{Namespace: namespace, Name: name})
		}
	})
}

// run syncs Services until ctx ends, and leaves no state for the next term.
func (t *term) run(ctx context.Context) {
	for range t.o.Workers {
		t.workers.Go(func() { t.work(ctx) })
	}
	<-ctx.Done()
	t.stop()
	t.queue.ShutDown()
	t.workers.Wait()
	for {
		key, over := t.queue.Get()
		if over {
			break
		}
		t.queue.Done(key)
	}
	t.o.Metrics.queues.reset(t.o.Name)
}

// stop stops the timers. No further worker starts.
func (t *term) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for _, timer := range t.timers {
		timer.Stop()
	}
	for _, timer := range t.spreads {
		timer.Stop()
	}
}
