package xds

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/xds/resource"
)

// question is a resource name as clients ask for it. The routes of a Listener also depend on the
// namespace of the client: its ServiceProfiles come first.
type question struct {
	name, namespace string
	// typ is the type that the name is read for. Listeners and routes share a topic, and so do
	// Clusters and endpoints, unless their names have the type in them.
	typ resourceType
}

func newQuestion(typ resourceType, name, namespace string) question {
	q := question{name: name, namespace: namespace, typ: typ}
	switch {
	case strings.HasPrefix(name, "xdstp:"):
	case q.route():
		q.typ = listeners
	default:
		q.typ = clusters
	}
	return q
}

// route reports whether the question is about a Listener or routes.
func (q question) route() bool {
	return q.typ == listeners || q.typ == routes
}

// topic has the views of one question, for all types. All of them answer from the same snapshot.
// Its goroutine renews them when the snapshot is stale.
type topic struct {
	asked
	server *Server
	end    func() // called when nobody uses the topic any more

	mu    sync.Mutex
	facts facts
	views map[viewKey]*view
	ended bool
}

// viewKey says who can share a view. Endpoints differ by the place of the client, Listeners and routes by the
// kind of client, and Clusters by whether it is Envoy. What is missing differs by the variant: only delta
// clients can be told so (strict).
//
// Clients that may not see the Service share a view as if there were none (hidden).
type viewKey struct {
	typ    resourceType
	client resource.Client
	strict bool
	hidden bool
	filter catalog.Filter
}

// run renews the views until the context ends.
func (t *topic) run(ctx context.Context) {
	if t.unusable != nil {
		return
	}
	defer t.releaseFacts()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		f, due := t.renew()
		var routes <-chan struct{}
		if f.profile != nil {
			routes = f.profile.Stale()
		}
		var later <-chan time.Time
		if !due.IsZero() {
			timer.Reset(time.Until(due))
			later = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-f.snapshot.Stale():
		case <-routes:
		case <-later:
		}
	}
}

func (t *topic) releaseFacts() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.facts.release()
	t.ended = true
}

func (f *facts) release() {
	if f.snapshot != nil {
		f.snapshot.Release()
	}
	if f.profile != nil {
		f.profile.Release()
	}
	*f = facts{}
}

// current reports whether nothing has changed since.
func (f facts) current() bool {
	return f.snapshot != nil && !channel.IsClosed(f.snapshot.Stale()) && (f.profile == nil || !channel.IsClosed(f.profile.Stale()))
}

// renew refreshes the views, and publishes those whose delay is over. It returns what they are made from, and
// when the next delay ends; zero for none.
func (t *topic) renew() (from facts, due time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	now := time.Now()
	for _, v := range t.views {
		if at := t.settle(v, now); !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return t.facts, due
}

// refresh makes the newest version of all views from the current state of the catalog, if theirs is
// out of date. The caller holds the lock.
func (t *topic) refresh() {
	if t.unusable != nil || t.ended || t.facts.current() {
		return
	}
	before := t.facts.filters
	t.facts.release()
	t.facts = t.look(t.server.catalog)
	if t.facts.filters.Same(before) {
		t.facts.filters = before // each view compares them
	}
	t.lastVisibleTo = t.visibleTo(t.facts)
	now := time.Now()
	for _, v := range t.views {
		v.take(t.answer(v, t.facts))
		t.settle(v, now)
	}
}

// look returns the current state of what the question is about.
func (a *asked) look(known *catalog.Catalog) facts {
	f := facts{snapshot: known.Service(a.name.Service)}
	if !a.route() {
		f.filters = f.snapshot.PriorityFilters()
		return f
	}
	port, err := a.name.ChoosePort(f.snapshot.Service)
	if err == nil {
		f.profile = known.Profile(catalog.ProfileQuery{
			Cluster: catalog.LocalCluster, Service: a.name.Service, Port: port, ClientNamespace: a.namespace, ClusterDomain: a.config.ClusterDomain,
		})
	}
	return f
}

// join makes a subscription follow the view that is right for a client's place, instead of another one.
func (t *topic) join(sub *subscription, place catalog.Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	if sub.view != nil {
		t.drop(sub)
	}
	key := viewKey{typ: sub.typ, hidden: t.hides(t.visibleTo(t.facts), sub.stream)}
	switch {
	case sub.typ == endpoints:
		key.filter = t.facts.filters.For(place)
	case t.route():
		key.client, key.strict = sub.stream.client.variant(), sub.stream.variant == variantDelta
	default:
		key.strict = sub.stream.variant == variantDelta
		if !sub.stream.client.grpc {
			key.client = resource.Envoy
		}
	}
	v := t.views[key]
	if v == nil {
		v = &view{viewKey: key, subscribers: map[*subscription]struct{}{}}
		v.publish(t.answer(v, t.facts), time.Now())
		t.views[key] = v
	}
	v.subscribers[sub] = struct{}{}
	sub.view = v
}

// leave ends a subscription.
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
		delete(t.views, v.viewKey)
	}
}

// acquire returns the topic of a question. Each acquire without an error is followed by one
// release. The error is the status of a question that is one too many.
func (s *Server) acquire(q question, by clientlimits.ClientID) (*topic, error) {
	a := s.config.parse(q)
	return s.topics.Acquire(a.question, func() (t *topic, err error) {
		t = &topic{asked: a, server: s, views: map[viewKey]*view{}}
		t.end, err = s.renewFor(by, t.run)
		return t, err
	})
}

// release ends the topic when this was its last user.
func (s *Server) release(t *topic) { s.topics.Release(t.question, func(t *topic) { t.end() }) }

// renewFor counts a question of a client, and runs what renews its answers until end is called. The
// error is the status of a question that is one too many.
func (s *Server) renewFor(by clientlimits.ClientID, run func(context.Context)) (end func(), err error) {
	if err := s.clients.BeginQuery(by); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.renewing.Go(func() { run(ctx) })
	return func() {
		stop()
		s.clients.EndQuery(by)
	}, nil
}

// countViews returns how many views there are of each type.
func (s *Server) countViews() (n [resourceTypes]int) {
	s.topics.Each(func(t *topic) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for key := range t.views {
			n[key.typ]++
		}
	})
	return n
}
