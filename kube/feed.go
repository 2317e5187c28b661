package kube

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/internal/objectmeta"
)

const (
	retryFirst = 100 * time.Millisecond
	// retryLimit caps the delay between attempts. Recovery from an outage takes up to two delays, the second
	// a short one, and must take 5 s at most.
	retryLimit = 2 * time.Second
	// retryLimitMissing caps the delay for kinds that the cluster lacks or forbids, because that rarely
	// changes soon.
	retryLimitMissing = 4 * time.Second
	// retryEach times the number of namespaces is the cap if it is larger (from 40 namespaces on), so that a
	// resource gets at most 20 requests a second.
	retryEach = 50 * time.Millisecond
	// healthy is how long an attempt must last for the next delay to be the shortest again.
	healthy = 10 * time.Second
)

// binding is what a feed gets from its cluster.
type binding struct {
	scope Scope
	// namespaces are as in [Options].
	namespaces []string
	report     objectmeta.Report
	fixed      objectmeta.Fixed
	now        func() time.Time
	// lagObserver returns the function that observes update times of a kind, in Unix seconds.
	lagObserver func(kind string) (func(updated int64), error)
	// untrusted is nil for a trusted API server.
	untrusted *UntrustedLimits
	// rewinds is shared by the feeds of a cluster.
	rewinds *rewinds
}

// watchSpec is what a [Kind] says about how its objects are listed and watched.
type watchSpec struct {
	kind, lag string
	resource  schema.GroupVersionResource
	form      Form
	optional  bool
	// clusterWide is true for objects without a namespace.
	clusterWide bool
	// selector is a label selector; empty selects all objects.
	selector string
}

// with returns a spec that serves two kinds of one resource.
func (r watchSpec) with(other watchSpec) (watchSpec, error) {
	if other.kind == "" {
		other.kind, other.lag = r.kind, r.lag
	}
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

// withName fills in the kind and the lag if they are empty: from the first table that watches the resource
// and has a name, else from the resource.
func (r watchSpec) withName(tables []AnyTable) watchSpec {
	for _, t := range tables {
		if other := t.spec(); r.kind == "" && other.resource == r.resource {
			r.kind, r.lag = other.kind, other.lag
		}
	}
	r.kind = cmp.Or(r.kind, resourceName(r.resource))
	return r
}

// resourceName returns a name for a resource that no kind names. It is valid as part of a metric's name.
func resourceName(r schema.GroupVersionResource) string {
	words := []string{r.Resource, r.Version}
	if r.Group != "" {
		words = append(words, r.Group)
	}
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.Join(words, "_"))
}

// feed fills the tables of one resource from the API server.
type feed struct {
	watchSpec
	tables []AnyTable
	scope  Scope
	// reported reports problems, and their fixes.
	reported *reported
	// observeLag is called by the first table only, because all tables see the same updates.
	observeLag func(updated int64)
	// parts are the units that are watched separately: one per namespace, or one for all objects.
	parts []*part
	// mu is held while the reflectors of any part change the tables and call their handlers.
	mu        sync.Mutex
	untrusted *UntrustedLimits
	// synced is true if the last line logged that all parts are in sync. warned is true if the last line was
	// a warning that one isn't.
	synced, warned atomic.Bool
}

// newFeed returns a feed without tables.
func newFeed(r watchSpec, b binding) (*feed, error) {
	observe, err := b.lagObserver(r.lag)
	if err != nil {
		return nil, err
	}
	f := &feed{watchSpec: r, scope: b.scope, reported: newReported(b), observeLag: observe, untrusted: b.untrusted}
	f.parts = newParts(f, b)
	return f, nil
}

// add adds a table, which is filled after the tables before it.
func (f *feed) add(t AnyTable) error {
	joint, err := f.with(t.spec())
	if err != nil {
		return err
	}
	observe := f.observeLag
	if len(f.tables) > 0 {
		observe = func(int64) {}
	}
	if err := t.bind(tableBinding{scope: f.scope, report: f.reported.add, observeLag: observe, status: f.status, parts: func() []*part { return f.parts }, index: len(f.tables)}); err != nil {
		return err
	}
	f.watchSpec, f.tables = joint, append(f.tables, t)
	return nil
}

// len returns the number of objects. Tables differ if one of them can't use an object, so the largest counts.
func (f *feed) len() int {
	n := 0
	for _, t := range f.tables {
		n = max(n, t.Len())
	}
	return n
}

// status returns the status of the tables: the worst of any part.
func (f *feed) status() TableStatus {
	s := f.parts[0].status()
	s.Objects = f.len()
	if len(f.parts) == 1 {
		return s
	}
	s.State, s.Reason, s.Detail = Synced, "", ""
	s.Namespaces = make([]NamespaceStatus, len(f.parts))
	for i, p := range f.parts {
		of := p.status()
		s.Namespaces[i] = NamespaceStatus{
			Namespace: p.namespace, State: of.State, Reason: of.Reason, Detail: of.Detail, Filled: of.Filled, Stale: of.Stale,
		}
		s.Filled, s.Stale = s.Filled && of.Filled, max(s.Stale, of.Stale)
		if of.LastContact.After(s.LastContact) {
			s.LastContact = of.LastContact
		}
		switch {
		case of.State == Waiting && s.State != Waiting:
			s.State, s.Reason, s.Detail = Waiting, of.Reason, "namespace "+p.namespace+": "+of.Detail
		case of.State == Connecting && s.State == Synced:
			s.State = Connecting
		}
	}
	return s
}

// settled reports whether each part is filled or known to be missing, so that nothing needs to wait for it.
func (f *feed) settled() bool {
	return !slices.ContainsFunc(f.parts, func(p *part) bool { return !p.settled() })
}

// listed reports whether each part has been listed. The caller holds the lock.
func (f *feed) listed() bool {
	return !slices.ContainsFunc(f.parts, func(p *part) bool { return !p.listed })
}

// stale returns how long the tables may have missed changes.
func (f *feed) stale() time.Duration {
	worst := time.Duration(0)
	for _, p := range f.parts {
		worst = max(worst, p.state.stale())
	}
	return worst
}

// failureCount returns the number of failed attempts.
func (f *feed) failureCount() uint64 {
	sum := uint64(0)
	for _, p := range f.parts {
		sum += p.state.failureCount()
	}
	return sum
}

// atMost returns the cap for the delay between attempts of one part: limit, unless all parts together would
// then send too many requests.
func (f *feed) atMost(limit time.Duration) time.Duration {
	return max(limit, time.Duration(len(f.parts))*retryEach)
}

// retry computes the delays between failed attempts. The zero retry starts with the shortest.
type retry struct{ last time.Duration }

// next returns the next delay. Delays double up to the limit, minus up to a quarter at random, so that many
// processes don't reconnect at the same moment.
func (r *retry) next(limit time.Duration) time.Duration {
	r.last = min(max(retryFirst, 2*r.last), limit)
	return r.last - rand.N(r.last/4)
}
