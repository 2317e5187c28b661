package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/controllers/writeclient"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/panics"
	"github.com/signpostd/signpost/internal/tracing"
)

// Key names a Service, and with it its Endpoints and EndpointSlices.
type Key = types.NamespacedName

// Options configure a [Loop]. The options of a controller embed those of its loop, of which the controller
// itself sets Name, Sync, ServicesIn, RetryFirst, RetryLimit and Contested.
type Options struct {
	// Name is the name of the queue in metrics and logs.
	Name string
	// Sync brings the objects of a Service into their desired state, and reports each write with
	// [Loop.Wrote]. If it fails or panics, it is called again later. Its context ends with the term, and so
	// should its reads. Its writes should continue while this process leads, because the API server may carry
	// out a cancelled write even after another process has become the leader, but begin no later than
	// [writeclient.FinishLimit] after that. If the cause of the context is [writeclient.ErrYield], its writes
	// should end too ([writeclient.Send]).
	Sync func(context.Context, Key) error
	// Workers is how many Services are synced at once, besides slow ones; at least 1.
	Workers int
	// BatchPeriod is how long a workload's change waits, to be synced together with further changes.
	BatchPeriod time.Duration
	// ServicesIn returns the names of the Services of a namespace, for [Loop.AddNamespace].
	ServicesIn func(namespace string) []string
	// RetryFirst and RetryLimit bound the growing delay between failures.
	RetryFirst, RetryLimit time.Duration
	// RepairFirst is the first delay before another writer's change is reverted; zero means a second.
	RepairFirst time.Duration
	// RepairBatch is the shortest delay before another writer's change is reverted, to batch further changes.
	RepairBatch time.Duration
	// Contested, if not nil, is called when another writer keeps changing the objects of a Service. It is not
	// called again before a period without such changes.
	Contested func(Key)
	// Tracer starts a span for each sync; nil starts none.
	Tracer  *tracing.Tracer
	Metrics *Metrics
	// History keeps the writes of the loop and of other writers; nil keeps nothing.
	History *history.Log
	Logger  *slog.Logger
	// Recorder sends the Events of the controller.
	Recorder record.EventRecorder
}

// Loop syncs the Services that are added to it, while it runs.
type Loop struct {
	o      Options
	panics *panics.Reporter
	// term is the current term; nil between terms.
	term atomic.Pointer[term]
}

// New returns a loop that isn't running.
func New(o Options) *Loop {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil, nil)
	}
	o.RepairFirst = cmp.Or(o.RepairFirst, repairFirst)
	o.Metrics.panics.WithLabelValues(o.Name)
	l := &Loop{o: o, panics: panics.New(o.Logger, o.Metrics.panics)}
	o.Metrics.oldest.watch(o.Name, func() time.Duration { return l.Health().Waits() })
	return l
}

// Add queues a Service to be synced as soon as possible. Between terms it does nothing.
func (l *Loop) Add(key Key) {
	if t := l.term.Load(); t != nil {
		t.queue.Add(key)
	}
}

// AddBatched queues Services to be synced after the batch period, counted from the first of the waiting
// changes (spec/endpoints.md §4.4). Between terms it does nothing.
func (l *Loop) AddBatched(namespace string, names ...string) {
	t := l.term.Load()
	if t == nil {
		return
	}
	for _, name := range names {
		t.queue.AddAfter(Key{Namespace: namespace, Name: name}, l.o.BatchPeriod)
	}
}

// AddNamespace queues all Services of a namespace to be synced, after the batch period or a tenth
// of a second if that is longer. Further calls meanwhile do nothing, so that many changes of
// workloads with many Services cost little. Between terms it does nothing.
func (l *Loop) AddNamespace(namespace string) {
	if t := l.term.Load(); t != nil {
		t.addNamespace(namespace)
	}
}

// Repair must be called with another writer's change of an object of a Service, and the field manager of the
// change, empty if unknown. The Service is synced after a delay, which grows with each repeated change. A
// deletion is reverted without a delay the first time, and later after a shorter delay than other changes.
// Between terms, and for [Untouched], Repair does nothing.
func (l *Loop) Repair(key Key, what ExternalChange, by string) {
	if t := l.term.Load(); t != nil && what != Untouched {
		l.rememberExternal(key, by)
		t.queue.AddAfter(key, t.noteExternalChange(key, what, by))
	}
}

// Wrote must be called after each write request during the sync of a Service. The cause is the time of the
// change that led to the write; zero if unknown. A write that was not sent doesn't count.
func (l *Loop) Wrote(key Key, operation string, cause time.Time, err error) {
	t := l.term.Load()
	if t != nil && t.hasYielded(key, err) || errors.Is(err, writeclient.ErrStopped) {
		return
	}
	l.o.Metrics.wrote(l.o.Name, operation, cause, err)
	l.rememberFailed(key, operation, err)
	if t != nil {
		t.wrote(key, operation, err)
	}
}

// Forget drops the state of a deleted Service.
func (l *Loop) Forget(key Key) {
	if t := l.term.Load(); t != nil {
		t.forget(key)
	}
}

// Running reports whether a term is under way.
func (l *Loop) Running() bool { return l.term.Load() != nil }

// Status is the interface of a [Loop] for status pages.
type Status interface {
	// Health returns the health of the writes.
	Health() Health
	// Waiting returns why a Service waits or is contested, as [Loop.Waiting] does.
	Waiting(key Key) (Wait, bool)
	// AllWaiting returns all such Services, as [Loop.AllWaiting] does.
	AllWaiting(limit int) (oldest []KeyWait, total int)
}

// Health returns the health of the writes of the current term. Between terms it is zero.
func (l *Loop) Health() Health {
	if t := l.term.Load(); t != nil {
		return t.health()
	}
	return Health{}
}

// Waiting returns why a Service waits for its next sync, or that another writer keeps changing its objects, and
// false if neither holds. Between terms no Service waits.
func (l *Loop) Waiting(key Key) (Wait, bool) {
	if t := l.term.Load(); t != nil {
		return t.waiting(key)
	}
	return Wait{}, false
}

// AllWaiting returns what [Loop.Waiting] returns for all Services, the longest first, at most limit of them, and
// their number.
func (l *Loop) AllWaiting(limit int) (oldest []KeyWait, total int) {
	if t := l.term.Load(); t != nil {
		return t.allWaiting(limit)
	}
	return nil, 0
}

// Run syncs Services until ctx ends, starting with those that the function all returns. It returns when the
// last sync has ended.
func (l *Loop) Run(ctx context.Context, all func() []Key) {
	t := newTerm(&l.o, l.panics)
	l.term.Store(t)
	defer l.term.Store(nil)
	for _, key := range all() {
		t.queue.Add(key)
	}
	t.run(ctx)
}
