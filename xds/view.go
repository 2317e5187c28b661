package xds

import (
	"cmp"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/xds/resource"
)

// view is one resource as all clients with the same viewKey get it. Their subscriptions share it.
type view struct {
	viewKey
	current atomic.Pointer[frame] // what streams send; never nil once it has subscribers

	// The lock of the topic guards the fields below, and the callers of publish, settle and
	// remember hold it. latest is the last rendered version, and outdated is the time of the first
	// change that it lacks; zero for none. While changes are delayed, since is the time of the
	// first one that the current version lacks.
	latest          *frame
	outdated, since time.Time
	changed         time.Time // when the current version became current
	subscribers     map[*subscription]struct{}
	memory          clientlimits.Memory // that of the last rendered version
}

// publish makes f the current version and marks all subscriptions.
func (v *view) publish(f *frame, now time.Time) {
	v.latest, v.outdated, v.since, v.changed = f, time.Time{}, time.Time{}, now
	lane := laneOf(len(v.subscribers))
	v.current.Store(f)
	for sub := range v.subscribers {
		sub.stream.wake(lane, sub)
	}
}

// same reports whether two frames are equal for all clients of a view. Equal Clusters have equal plain
// variants, which are their beginning.
func (f *frame) same(g *frame) bool {
	return f == g || f.missing == g.missing && f.Version == g.Version && f.filters.Same(g.filters) && f.visibleTo == g.visibleTo
}

// versionOf returns the version of a response with these resources, which are sorted by name.
func versionOf(items []item) string {
	var content []byte
	for _, i := range items {
		content = appendIdentity(content, i.frame.Resource)
	}
	return resource.VersionOf(content)
}

// The limits of the delay of a change, and of one that removes endpoints (§6.10).
const maxDelay, maxUrgentDelay = 2 * time.Second, 500 * time.Millisecond

// settle renders an outdated view and publishes it, or returns until when it has to wait. While the
// changes of endpoints are delayed, they are only rendered to find removals.
func (t *topic) settle(v *view, now time.Time) (due time.Time) {
	current := v.current.Load()
	paced := t.pacedUntil(v)
	if !v.outdated.IsZero() {
		due = slices.MinFunc([]time.Time{v.outdated.Add(maxUrgentDelay), paced}, time.Time.Compare)
		if due.After(now) {
			return due
		}
		v.latest = t.render(v)
		v.since, v.outdated = cmp.Or(v.since, v.outdated), time.Time{}
		if v.latest.same(current) {
			v.latest, v.since = current, time.Time{}
		}
		if !t.fit(v) {
			return time.Time{}
		}
	}
	if v.latest == current {
		return time.Time{}
	}
	if paced.After(now) {
		if removed, _ := without(current.usable, v.latest.usable); len(removed) == 0 {
			return paced
		}
	}
	if paced.After(v.since) {
		t.server.metrics.paced.Observe(now.Sub(v.since).Seconds())
	}
	v.publish(v.latest, now)
	t.remember(v, current, v.latest)
	return time.Time{}
}

// pacedUntil returns until when the budget delays the next version of a view; zero for no delay.
func (t *topic) pacedUntil(v *view) time.Time {
	current := v.current.Load()
	if v.typ != endpoints || !t.state.filters.Same(current.filters) || t.visibleTo != current.visibleTo { // the clients may belong to other views
		return time.Time{}
	}
	return v.changed.Add(budgeted(len(current.Wire), len(v.subscribers), t.server.config.EgressBudget))
}

// minPace is the shortest delay of a stream, so that small responses cause none.
const minPace = 10 * time.Millisecond

// pace delays all types but endpoints after a response, for the time that the budget needs to send
// it to all streams with the same Clusters (§6.13).
func (s *stream) pace(typ resourceType, size int) {
	if typ.Single() {
		return
	}
	if d := budgeted(size, max(1, s.users), s.server.config.EgressBudget); d >= minPace {
		s.pacedUntil = time.Now().Add(d)
		time.AfterFunc(d, func() { s.wake(laneMany) })
	}
}

// budgeted returns the time that size bytes for each client need with a budget in bytes a second.
func budgeted(size, clients, budget int) time.Duration {
	seconds := float64(size) * float64(clients) / float64(budget)
	return min(maxDelay, time.Duration(seconds*float64(time.Second)))
}

// remember adds the change of a view to the history.
func (t *topic) remember(v *view, before, after *frame) {
	if t.server.config.History == nil || before == nil || len(v.subscribers) == 0 {
		return
	}
	e := history.Entry{
		Kind: history.Sent, Action: history.Updated, Source: "xds", Type: v.typ.String(), Object: t.query.name, Hostname: t.name.Hostname,
		Streams: len(v.subscribers), Places: 1, ClientZone: v.filter.Zone, ClientNode: v.filter.Node, Endpoints: len(after.usable),
	}
	if v.typ == endpoints {
		e.Added, e.MoreAdded = without(after.usable, before.usable)
		e.Removed, e.MoreRemoved = without(before.usable, after.usable)
	}
	if after.missing {
		e.Action = history.Deleted
	}
	service := t.name.Service
	key := history.Key{Cluster: service.LinkedCluster(), Namespace: service.Namespace, Name: service.Name}
	t.server.config.History.Add(key, key.Namespace, &e)
}

// without returns the addresses in list that other lacks, at most history.MaxAddresses, and the number
// of further ones. Both lists are sorted.
func without(list, other []netip.AddrPort) (lacking []netip.AddrPort, more int) {
	for _, a := range list {
		for len(other) > 0 && other[0].Compare(a) < 0 {
			other = other[1:]
		}
		switch {
		case len(other) > 0 && other[0] == a:
		case len(lacking) == history.MaxAddresses:
			more++
		default:
			lacking = append(lacking, a)
		}
	}
	return lacking, more
}
