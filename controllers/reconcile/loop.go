package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/panics"
	"github.com/signpostd/signpost/internal/tracing"
)

// Key names a Service, and with it the Endpoints and EndpointSlices made for it.
type Key = types.NamespacedName

// Options are what a [Loop] is made from.
type Options struct {
	// Name is that of the queue in metrics and logs.
	Name string
	// Sync makes the objects of a Service what they have to be, and tells the loop of each write
	// ([Loop.Wrote]). It is called again, later, when it fails or panics. Its context ends with the term, and
	// so should what it reads then. The API server may carry out a write that is cancelled, even after
	// somebody else has become the leader; so writes are to go on while this process leads.
	Sync func(context.Context, Key) error
	// Workers is how many Services are synced at once; at least 1.
	Workers int
	// BatchPeriod is how long a change of a workload waits for others to come.
	BatchPeriod time.Duration
	// RetryFirst and RetryLimit bound the growing delay between failures.
	RetryFirst, RetryLimit time.Duration
	// RepairFirst is how long a change that somebody else made is left alone before it is put
	// right, the first time; zero for a second.
	RepairFirst time.Duration
	// RepairBatch is how long, at least, such a change waits for others to come.
	RepairBatch time.Duration
	// Contested is called when somebody keeps changing the objects of a Service, once until that
	// ends; it may be nil.
	Contested func(Key)
	// Tracer begins a span for each sync; nil begins none.
	Tracer  *tracing.Tracer
	Metrics *Metrics
	Logger  *slog.Logger
}

// Loop syncs the Services that it is told about, while it runs.
type Loop struct {
	o      Options
	panics *panics.Reporter
	// term is the current one; nil between terms.
	term atomic.Pointer[term]
}

// New returns a loop that doesn't run yet.
func New(o Options) *Loop {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil, nil)
	}
	if o.RepairFirst == 0 {
		o.RepairFirst = repairFirst
	}
	o.Metrics.panics.WithLabelValues(o.Name)
	l := &Loop{o: o, panics: panics.New(o.Logger, o.Metrics.panics)}
	o.Metrics.oldest.watch(o.Name, func() time.Duration { return l.Health().Waits() })
	return l
}

// Add has a Service synced as soon as possible. Between terms it does nothing.
func (l *Loop) Add(key Key) {
	if t := l.term.Load(); t != nil {
		t.queue.Add(key)
	}
}

// AddBatched has a Service synced after the batch period, counted from the first of the
// changes that wait (spec/endpoints.md §4.4). Between terms it does nothing.
func (l *Loop) AddBatched(namespace string, names ...string) {
	t := l.term.Load()
	if t == nil {
		return
	}
	for _, name := range names {
		t.queue.AddAfter(Key{Namespace: namespace, Name: name}, l.o.BatchPeriod)
	}
}

// Repair is to be called with what somebody else has done to an object of a Service, and the field manager that did it,
// which is empty if that isn't known. It has the Service synced after a delay, which grows while that happens again and
// again. What is lost is written again the first time without a delay, and later after a shorter one. Between terms, and
// for what is untouched, it does nothing.
func (l *Loop) Repair(key Key, what ExternalChange, by string) {
	if t := l.term.Load(); t != nil && what != Untouched {
		t.queue.AddAfter(key, t.noteExternalChange(key, what, by))
	}
}

// Wrote is to be called during the sync of a Service after each request that writes, whose cause
// is the time of the change that led to it; zero when it is unknown.
func (l *Loop) Wrote(key Key, operation string, cause time.Time, err error) {
	l.o.Metrics.wrote(l.o.Name, operation, cause, err)
	if t := l.term.Load(); t != nil {
		t.wrote(key, operation, err)
	}
}

// Forget drops what the loop remembers of a Service that is gone.
func (l *Loop) Forget(key Key) {
	if t := l.term.Load(); t != nil {
		t.forget(key)
	}
}

// Running reports whether a term is under way.
func (l *Loop) Running() bool { return l.term.Load() != nil }

// Health says how the writes of the current term go. Between terms it is zero.
func (l *Loop) Health() Health {
	if t := l.term.Load(); t != nil {
		return t.health()
	}
	return Health{}
}

// Waiting returns why a Service waits to be synced again, if it does. Between terms none waits.
func (l *Loop) Waiting(key Key) (Wait, bool) {
	if t := l.term.Load(); t != nil {
		return t.waiting(key)
	}
	return Wait{}, false
}

// AllWaiting returns why Services wait, at most so many of them, those that wait for the longest time first, and how
// many wait.
func (l *Loop) AllWaiting(most int) (some []KeyWait, all int) {
	if t := l.term.Load(); t != nil {
		return t.allWaiting(most)
	}
	return nil, 0
}

// Run syncs Services until ctx ends, beginning with those that all returns. It
// returns when the last sync is done.
func (l *Loop) Run(ctx context.Context, all func() []Key) {
	t := newTerm(&l.o, l.panics)
	l.term.Store(t)
	defer l.term.Store(nil)
	for _, key := range all() {
		t.queue.Add(key)
	}
	var workers sync.WaitGroup
	for range l.o.Workers {
		workers.Go(func() {
			for t.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	t.queue.ShutDown()
	workers.Wait()
	t.end()
}
