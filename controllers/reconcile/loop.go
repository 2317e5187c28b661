package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Key names a Service, and with it the Endpoints and EndpointSlices made for it.
type Key = types.NamespacedName

const (
	// The delays between attempts while the API server can't be reached: no Service is to
	// wait for longer once it is back.
	awayFirst, awayLimit = 100 * time.Millisecond, 4 * time.Second
	// askedLimit bounds the delay that an answer asks for.
	askedLimit = 10 * time.Second
	// Failed syncs of all Services together are tried again this often at most
	// (spec/endpoints.md §2).
	retriesPerSecond, retryBurst = 10, 100
	// persistent is the number of failures in a row after which a Service is said to
	// keep failing.
	persistent = 15
)

// Options are what a [Loop] is made from.
type Options struct {
	// Name is that of the queue in metrics and logs.
	Name string
	// Sync makes the objects of a Service what they have to be. It is called again, later,
	// when it fails. Its context doesn't end with the term.
	Sync func(context.Context, Key) error
	// Workers is how many Services are synced at once; at least 1.
	Workers int
	// BatchPeriod is how long a change of a workload waits for others to come.
	BatchPeriod time.Duration
	// RetryFirst and RetryLimit bound the growing delay between failures.
	RetryFirst, RetryLimit time.Duration
	Metrics                *Metrics
	Logger                 *slog.Logger
}

// Loop syncs the Services that it is told about, while it runs.
type Loop struct {
	o Options
	// queue is that of the current term; nil between terms.
	queue atomic.Pointer[queue]
}

// New returns a loop that doesn't run yet.
func New(o Options) *Loop {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil, nil)
	}
	return &Loop{o: o}
}

// queue is the queue of one term.
type queue struct {
	workqueue.TypedRateLimitingInterface[Key]
	// away delays what failed because the API server can't be reached.
	away workqueue.TypedRateLimiter[Key]
}

// Add has a Service synced as soon as possible. Between terms it does nothing.
func (l *Loop) Add(key Key) {
	if q := l.queue.Load(); q != nil {
		q.Add(key)
	}
}

// AddBatched has a Service synced after the batch period, counted from the first of the
// changes that wait (spec/endpoints.md §4.4). Between terms it does nothing.
func (l *Loop) AddBatched(namespace string, names ...string) {
	q := l.queue.Load()
	if q == nil {
		return
	}
	for _, name := range names {
		q.AddAfter(Key{Namespace: namespace, Name: name}, l.o.BatchPeriod)
	}
}

// Run syncs Services until ctx ends, beginning with those that all returns. It
// returns when the last sync is done.
func (l *Loop) Run(ctx context.Context, all func() []Key) {
	q := l.newQueue()
	l.queue.Store(q)
	defer l.queue.Store(nil)
	for _, key := range all() {
		q.Add(key)
	}
	var workers sync.WaitGroup
	for range l.o.Workers {
		workers.Go(func() {
			for l.next(ctx, q) {
			}
		})
	}
	<-ctx.Done()
	q.ShutDown()
	workers.Wait()
}

func (l *Loop) newQueue() *queue {
	failures := workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[Key](l.o.RetryFirst, l.o.RetryLimit),
		&workqueue.TypedBucketRateLimiter[Key]{Limiter: rate.NewLimiter(retriesPerSecond, retryBurst)},
	)
	return &queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(failures,
			workqueue.TypedRateLimitingQueueConfig[Key]{Name: l.o.Name, MetricsProvider: l.o.Metrics.queues}),
		away: workqueue.NewTypedItemExponentialFailureRateLimiter[Key](awayFirst, awayLimit),
	}
}

// next syncs one Service. It returns false when the term is over.
func (l *Loop) next(ctx context.Context, q *queue) bool {
	key, over := q.Get()
	if over {
		return false
	}
	defer q.Done(key)
	if ctx.Err() != nil {
		return false
	}
	begun := time.Now()
	// The API server may carry out a request that is cancelled, even after somebody else has
	// become the leader. So a sync goes on to its end, which the client's timeout bounds.
	err := l.o.Sync(context.WithoutCancel(ctx), key)
	l.o.Metrics.observeSync(l.o.Name, time.Since(begun), err)
	if err == nil {
		q.Forget(key)
		q.away.Forget(key)
		return true
	}
	if ctx.Err() == nil {
		l.failed(q, key, err)
	}
	return true
}

// failed has a Service synced again later, however often it failed: within seconds while
// the API server can't be reached, and after a growing delay if it refuses something.
func (l *Loop) failed(q *queue, key Key, err error) {
	if unreachable(err) {
		l.o.Logger.Debug("sync failed, the API server can't be reached", "service", key.String(), "error", err)
		q.AddAfter(key, max(q.away.When(key), asked(err)))
		return
	}
	q.AddRateLimited(key)
	failures := q.NumRequeues(key)
	log := l.o.Logger.With("service", key.String(), "failures", failures, "error", err)
	switch {
	case failures == persistent:
		l.o.Metrics.persistent(l.o.Name)
		log.Error("sync of the service keeps failing, trying again after growing delays")
	case failures < persistent:
		log.Warn("sync of the service failed, trying again")
	}
}

// asked returns the delay that the API server asks for, as it does when it is overloaded.
func asked(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return min(time.Duration(seconds)*time.Second, askedLimit)
}

// unreachable reports whether a request failed because the API server can't be reached or is
// overloaded, rather than because of what was requested.
func unreachable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !errors.As(err, new(*refusal))
	}
	switch status.Status().Code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusBadGateway:
		return true
	default:
		return false
	}
}

// refusal is a failure that has to do with the objects of a Service.
type refusal struct{ error }

// Unwrap returns the reason.
func (r *refusal) Unwrap() error { return r.error }

// Refuse marks a failure of a sync as one that is due to the objects of the Service, so
// that it isn't taken for that of a connection.
func Refuse(err error) error {
	if err == nil {
		return nil
	}
	return &refusal{err}
}

// Running reports whether a term is under way.
func (l *Loop) Running() bool { return l.queue.Load() != nil }
