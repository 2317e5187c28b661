package kube

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/signpostd/signpost/internal/pause"
)

// part is what one reflector of a feed reads: the objects of one namespace, or all.
type part struct {
	feed *feed
	// namespace is empty for all.
	namespace string
	state     *state
	source    *source
	watches   *watches
	rewinds   *rewinds
	// suspected has a value if a check of the kind's CRD is pending.
	suspected chan struct{}
	// listed is true once the tables have held all objects of the part. The feed's lock guards it.
	listed bool
	// requiredFilled reports whether all required tables of the cluster have been filled. settle is
	// called after confirmed became true.
	requiredFilled func() bool
	settle         func()
	// refusals is the number of attempts in a row that were refused. Only the goroutine of run uses it.
	refusals int
	// confirmed is true if the API server has refused the part again after all required tables were filled.
	confirmed atomic.Bool
}

// newParts returns the parts of a feed: one per namespace or, without namespaces, one.
func newParts(f *feed, b binding) []*part {
	namespaces := b.namespaces
	if f.clusterWide || len(namespaces) == 0 {
		namespaces = []string{""}
	}
	if b.rewinds == nil {
		b.rewinds = newRewinds()
	}
	parts := make([]*part, len(namespaces))
	for i, namespace := range namespaces {
		parts[i] = &part{
			feed: f, namespace: namespace, state: newState(b.now), watches: &watches{}, rewinds: b.rewinds, suspected: make(chan struct{}, 1),
			requiredFilled: func() bool { return true }, settle: func() {},
		}
	}
	b.rewinds.parts = append(b.rewinds.parts, parts...)
	return parts
}

// status returns the status of the part, without the number of its objects.
func (p *part) status() TableStatus {
	s := p.state.status()
	s.Kind, s.Resource, s.Required = p.feed.kind, p.feed.resource.GroupResource(), !p.feed.optional
	return s
}

// run keeps the tables in sync with the API server until ctx ends.
func (p *part) run(ctx context.Context) {
	if p.removable() {
		var following sync.WaitGroup
		following.Go(func() { p.followDefinition(ctx) })
		defer following.Wait()
	}
	var delay retry
	for ctx.Err() == nil {
		begun := p.state.now()
		p.runUntilRewound(ctx, &delay)
		if p.state.now().Sub(begun) > healthy {
			delay = retry{}
		}
		_ = pause.For(ctx, delay.next(p.retryLimit())) // the version may go back again and again
	}
}

// runUntilRewound runs a reflector until the resource version of the API server goes back. A reflector
// remembers the version that it has reached, so each call makes a new one.
func (p *part) runUntilRewound(ctx context.Context, delay *retry) {
	ctx, cancel := p.rewinds.untilNext(ctx)
	defer cancel()
	reflector := cache.NewReflectorWithOptions(p.listWatch(ctx), nil, newStore(p), cache.ReflectorOptions{
		Name:            p.feed.kind,
		TypeDescription: p.feed.resource.GroupResource().String(), // for error messages
		Backoff:         &wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: 0.2, Steps: 10, Cap: p.feed.atMost(retryLimit)},
	})
	for ctx.Err() == nil {
		begun, certain := p.state.now(), p.requiredFilled()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.state.failed(p.explained(ctx, err))
			p.countRefusal(certain)
		}
		if p.state.now().Sub(begun) > healthy {
			*delay = retry{}
		}
		_ = pause.For(ctx, delay.next(p.retryLimit()))
	}
}

// countRefusal counts a failed attempt if the API server refused it. A refusal may pass, for
// example while an API server starts, and a role that has settled publishes without the kind. So
// the second refusal in a row is the first that counts, and only if the attempt began when the
// required tables had been filled.
func (p *part) countRefusal(certain bool) {
	if !p.status().Reason.refused() {
		p.refusals = 0
		p.confirmed.Store(false)
		return
	}
	p.refusals++
	if p.refusals > 1 && certain && !p.confirmed.Swap(true) {
		p.settle()
	}
}

// settled reports whether the part is filled or known to be missing.
func (p *part) settled() bool { return p.status().settled(p.confirmed.Load()) }

// beforeFilling checks whether the CRD of the kind is being removed, because a listing may be incomplete
// then. If the check fails, it is repeated when the tables have been filled.
func (p *part) beforeFilling(ctx context.Context) {
	if p.removable() {
		_ = p.checkDefinition(ctx)
	}
}

// advance records that the tables contain everything up to a version from the API server, and whether it is
// the version of a change.
func (p *part) advance(version string, change bool) {
	if !p.rewinds.compareNow(p, version) {
		p.watches.advance(version, change)
	}
}

// continued returns nil if a watch may continue at the version of the tables, because the API server hasn't
// gone back behind it. The watch itself would not fail: it silently waits for that version.
func (p *part) continued(ctx context.Context) error {
	before := p.rewinds.remember(p)
	version, err := p.source.currentVersion(ctx)
	if err == nil && p.rewinds.compare(p, version, before) {
		return errRewound
	}
	return err
}

// errRewound is why a watch isn't continued after a rewind.
var errRewound = errors.New("the resource version of the API server went back")

func (p *part) retryLimit() time.Duration {
	if p.status().missing() && p.settled() {
		return p.feed.atMost(retryLimitMissing)
	}
	return p.feed.atMost(retryLimit)
}

// listWatch returns the source in the form that reflectors take. Their listings don't get the reflector's
// context, but must end with it.
func (p *part) listWatch(ctx context.Context) *cache.ListWatch {
	list := p.source.listings()
	return &cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			p.beforeFilling(ctx)
			return list(ctx, opts)
		},
		WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if startsWithObjects(opts) {
				p.beforeFilling(ctx)
			}
			return p.source.watch(ctx, opts)
		},
	}
}
