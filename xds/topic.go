package xds

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/xds/resource"
)

// query is a resource name, and the type that it is parsed for. Listeners and routes share a topic,
// and so do Clusters and endpoints, except for xdstp names, which contain the type. Listeners and
// routes depend on the namespace of the client, because its ServiceProfiles have precedence.
type query struct {
	name, namespace string
	typ             resourceType
}

func (q query) route() bool { return q.typ == listeners || q.typ == routes }

// topic has the views of one query, for all types, rendered from the same snapshot. Its goroutine
// renews them when the snapshot is stale.
type topic struct {
	query
	server *Server
	name   resource.Name
	// unusable is the reason why no Service can have the name; nil if the name is valid.
	unusable error
	end      func() // called after the last user of the topic

	mu    sync.Mutex
	state catalogState
	// visibleTo are the namespaces whose clients may see the Service, or its last version, because
	// clients keep its resources; empty for all.
	visibleTo string
	views     map[viewKey]*view
}

// viewKey has the properties of clients that a view depends on:
//   - Endpoints differ by the place of the client (filter).
//   - Listeners, routes and Clusters differ by the kind of client (client).
//   - Missing resources differ by the variant, because only a delta response can name them (strict).
//   - Clients that may not see the Service get the resources of a missing one (hidden).
type viewKey struct {
	typ    resourceType
	client resource.Client
	strict bool
	hidden bool
	filter catalog.Filter
}

func (t *topic) run(ctx context.Context) {
	if t.unusable != nil {
		return
	}
	for {
		f, due := t.renew()
		var routes <-chan struct{} // never ready without a profile
		if f.profile != nil {
			routes = f.profile.Stale()
		}
		var later <-chan time.Time
		if !due.IsZero() {
			later = time.After(time.Until(due))
		}
		select {
		case <-ctx.Done(): // no stream has the topic
			t.mu.Lock()
			defer t.mu.Unlock()
			t.state.release()
			return
		case <-f.snapshot.Stale():
		case <-routes:
		case <-later:
		}
	}
}

func (f *catalogState) release() {
	if f.snapshot != nil {
		f.snapshot.Release()
	}
	if f.profile != nil {
		f.profile.Release()
	}
	*f = catalogState{}
}

// fresh reports whether the catalog has not changed since the last look.
func (t *topic) fresh() bool {
	f := &t.state
	return f.snapshot != nil && !channel.IsClosed(f.snapshot.Stale()) && (f.profile == nil || !channel.IsClosed(f.profile.Stale()))
}

// outdated returns why the catalog may lack the Service, if clients may be told that it does.
func (t *topic) outdated() string {
	hides := t.state.snapshot.Service == nil || t.visibleTo != ""
	if !hides || t.server.config.Outdated == nil {
		return ""
	}
	return t.server.config.Outdated()
}

// renew refreshes the views, and publishes those whose delay is over. It returns their state, and
// when the next delay ends; zero for none.
func (t *topic) renew() (from catalogState, due time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	now := time.Now()
	for _, v := range t.views {
		if at := t.settle(v, now); !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return t.state, due
}

// refresh updates the state, and settles all views if it was outdated. A fresh snapshot stays, because run
// waits until it is stale. The caller holds the lock.
func (t *topic) refresh() {
	switch {
	case t.unusable != nil:
		return
	case !t.fresh():
		before := t.state.filters
		t.state.release()
		t.look()
		if t.state.filters.Same(before) {
			t.state.filters = before // each view compares them
		}
	default:
		why := t.outdated()
		if (why == "") == (t.state.outdated == "") {
			return
		}
		t.state.outdated = why
	}
	now := time.Now()
	for _, v := range t.views {
		v.outdated = cmp.Or(v.outdated, now)
		t.settle(v, now)
	}
}

// look takes the current state from the catalog.
func (t *topic) look() {
	known := t.server.catalog
	t.state = catalogState{snapshot: known.Service(t.name.Service)}
	if s := t.state.snapshot.Service; s != nil && t.server.config.Authenticate != nil {
		t.visibleTo = s.TrafficPolicy().VisibleTo
	}
	t.state.outdated = t.outdated()
	if !t.route() {
		t.state.filters = t.state.snapshot.PriorityFilters()
	} else if port, err := t.name.ChoosePort(t.state.snapshot.Service); err == nil {
		t.state.profile = known.Profile(catalog.ProfileQuery{
			Cluster: catalog.LocalCluster, Service: t.name.Service, Port: port, ClientNamespace: t.namespace, ClusterDomain: t.server.config.ClusterDomain,
		})
	}
}

// join moves a subscription to the view for a client's place, which it makes if there is none. If
// the client needs more memory than the limits allow, its stream ends.
func (t *topic) join(sub *subscription, place catalog.Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	if sub.view != nil {
		t.drop(sub)
	}
	key := viewKey{typ: sub.typ, hidden: t.hides(t.visibleTo, sub.stream)}
	if sub.typ == endpoints {
		key.filter = t.state.filters.For(place)
	} else {
		key.client, key.strict = sub.stream.client.variant, sub.stream.variant == variantDelta
	}
	v := t.views[key]
	if v == nil {
		now := time.Now()
		v = &view{viewKey: key, outdated: now, subscribers: map[*subscription]struct{}{}, memory: t.server.clients.Memory(sub.stream.client.id)}
		v.publish(t.render(v), now)
		t.views[key] = v
	}
	v.subscribers[sub] = struct{}{}
	sub.view = v
	t.fit(v)
}

// fit counts the memory of the last rendered version of a view. If the limits don't allow that, fit
// ends the streams of all subscriptions and returns false. The caller holds the lock.
func (t *topic) fit(v *view) bool {
	err := v.memory.Resize(v.latest.size())
	if err == nil {
		return true
	}
	for sub := range v.subscribers {
		sub.stream.cancel(err)
	}
	t.remove(v)
	return false
}

func (t *topic) leave(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(sub)
}

// drop takes a subscription out of its view. The caller holds the lock.
func (t *topic) drop(sub *subscription) {
	v := sub.view
	delete(v.subscribers, sub)
	if len(v.subscribers) == 0 {
		t.remove(v)
	}
}

// remove removes a view, unless another one has replaced it. The caller holds the lock.
func (t *topic) remove(v *view) {
	if t.views[v.viewKey] == v {
		delete(t.views, v.viewKey)
	}
	v.memory.Free()
}

// acquire returns the topic of a name for a client, until it is released. The error is a status.
func (s *Server) acquire(typ resourceType, name string, of *client) (*topic, error) {
	t := s.newTopic(typ, name, of.namespace)
	return s.topics.Acquire(t.query, func() (_ *topic, err error) {
		t.end, err = s.renewFor(of.id, t.run)
		return t, err
	})
}

// renewFor counts a query of a client, and runs the renewal of its resources until end is called.
// The error is a status: the client has too many queries.
func (s *Server) renewFor(by clientlimits.ClientID, run func(context.Context)) (end func(), err error) {
	if err := s.clients.BeginQuery(by); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.calls.Go(func() { run(ctx) })
	return func() {
		stop()
		s.clients.EndQuery(by)
	}, nil
}
