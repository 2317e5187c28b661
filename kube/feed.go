package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	retryFirst = 100 * time.Millisecond
	// retryLimit bounds the delay between attempts. Coming back from an outage
	// takes up to two of them, the second short, and is to take 5 s at most.
	retryLimit = 2 * time.Second
	// retryLimitMissing bounds the delay for kinds that the cluster lacks or forbids, which
	// rarely changes soon.
	retryLimitMissing = 4 * time.Second
	// healthy is how long an attempt has to last for the delays to begin anew.
	healthy = 10 * time.Second
)

// binding is what a feed gets from its cluster.
type binding struct {
	scope  Scope
	report Report
	now    func() time.Time
	// lagObserver returns the function that observes how old an update of a kind is; it takes
	// the time of the update in Unix seconds.
	lagObserver func(kind string) (func(updated int64), error)
}

// reading is what a [Kind] says about how its objects are read.
type reading struct {
	kind, lag string
	resource  schema.GroupVersionResource
	form      Form
	optional  bool
	// clusterWide is true for objects that belong to no namespace.
	clusterWide bool
	// selector is a label selector; empty means all objects.
	selector string
}

// with returns the reading that serves both of two kinds of one resource.
func (r reading) with(other reading) (reading, error) {
	if r.kind != other.kind || r.lag != other.lag {
		return r, fmt.Errorf("tables of %s have the names %q and %q, and the lags %q and %q; give both kinds the same name and lag",
			r.resource.GroupResource(), r.kind, other.kind, r.lag, other.lag)
	}
	if r.selector != other.selector {
		return r, fmt.Errorf("tables of %s have the selectors %q and %q; give both kinds the same selector",
			r.resource.GroupResource(), r.selector, other.selector)
	}
	form, err := r.form.with(other.form)
	if err != nil {
		return r, fmt.Errorf("tables of %s can't be filled from one watch: %w", r.resource.GroupResource(), err)
	}
	r.form, r.optional = form, r.optional && other.optional
	return r, nil
}

// feed fills the tables of one resource from the API server.
type feed struct {
	reading
	tables []AnyTable
	scope  Scope
	report Report
	// observeLag is called by the first table only: the others see the same updates.
	observeLag func(updated int64)
	state      *state
	source     *source
}

// newFeed returns a feed that has no tables yet.
func newFeed(r reading, b binding) (*feed, error) {
	observe, err := b.lagObserver(r.lag)
	if err != nil {
		return nil, err
	}
	return &feed{reading: r, scope: b.scope, report: b.report, observeLag: observe, state: newState(b.now)}, nil
}

// add adds a table, which is filled after those that the feed has.
func (f *feed) add(t AnyTable) error {
	joint, err := f.with(t.reading())
	if err != nil {
		return err
	}
	observe := f.observeLag
	if len(f.tables) > 0 {
		observe = func(int64) {}
	}
	if err := t.bind(place{scope: f.scope, report: f.report, observeLag: observe, status: f.status, index: len(f.tables)}); err != nil {
		return err
	}
	f.reading, f.tables = joint, append(f.tables, t)
	return nil
}

// len returns the number of objects. Tables differ where one of them can't use an object, so
// the largest counts.
func (f *feed) len() int {
	n := 0
	for _, t := range f.tables {
		n = max(n, t.Len())
	}
	return n
}

func (f *feed) status() TableStatus {
	s := f.state.status()
	s.Kind, s.Objects, s.Required = f.kind, f.len(), !f.optional
	return s
}

// run keeps the tables up to date until ctx ends.
func (f *feed) run(ctx context.Context) {
	reflector := cache.NewReflectorWithOptions(f.listWatch(ctx), nil, newStore(f), cache.ReflectorOptions{
		Name:            f.kind,
		TypeDescription: f.kind,
		Backoff:         &wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: 0.2, Steps: 10, Cap: retryLimit},
	})
	var delay retry
	for ctx.Err() == nil {
		begun := f.state.now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.state.failed(err)
		}
		if f.state.now().Sub(begun) > healthy {
			delay = retry{}
		}
		pause(ctx, delay.next(f.retryLimit()))
	}
}

func (f *feed) retryLimit() time.Duration {
	if f.status().missing() {
		return retryLimitMissing
	}
	return retryLimit
}

// listWatch adapts the source to reflectors. A reflector lists with a context that doesn't
// end with its own, so ctx is used instead.
func (f *feed) listWatch(ctx context.Context) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return f.source.list(ctx, opts)
		},
		WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return f.source.watch(ctx, opts)
		},
	}
}

// retry computes the delays between failed attempts. The zero retry begins with the shortest.
type retry struct{ last time.Duration }

// next returns the next delay. Delays double up to the limit. Up to a quarter is taken off at
// random, so that many processes don't come back at the same moment.
func (r *retry) next(limit time.Duration) time.Duration {
	r.last = min(max(retryFirst, 2*r.last), limit)
	return r.last - rand.N(r.last/4)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
