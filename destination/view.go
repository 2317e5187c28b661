package destination

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// query is what clients ask for: a port of a Service, or of one of its hostnames.
type query struct {
	service  catalog.ServiceKey
	port     uint16
	hostname string
}

// subscriber is who asks a question, and whether the Service doesn't declare the port.
type subscriber struct {
	client     clientlimits.ClientID
	undeclared bool
}

// view is the answer to a question for the clients of one place. The streams of these clients
// share it.
type view struct {
	filter  catalog.Filter
	current atomic.Pointer[response] // never nil

	// subject.mu guards these. entries are the newest entries. The current answer may have older
	// ones, if they are the same on the wire.
	entries []*entry
	rivals  []catalog.Rival
	streams int
}

// topic has the views of one question. All of them answer from the same snapshot, so that a
// stream that changes views never goes back in time. Its goroutine renews them when the snapshot
// is stale.
type topic struct {
	query           query
	firstSubscriber subscriber // who was the first to ask
	catalog         *catalog.Catalog
	config          *Config
	stop            context.CancelFunc
	updates         atomic.Uint64 // snapshots that changed an answer
	// overflows counts the streams that were too far behind for steps, each time.
	overflows atomic.Uint64
	users     int // guarded by subjects.mu

	mu       sync.Mutex
	snapshot *catalog.Snapshot // nil until first needed
	labels   labelSet
	views    map[catalog.Filter]*view
	ended    bool
}

// run renews the views until the context ends.
func (s *topic) run(ctx context.Context) {
	defer s.releaseSnapshot()
	for {
		snapshot := s.renew()
		if snapshot == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-snapshot.Stale():
		}
	}
}

func (s *topic) releaseSnapshot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot != nil {
		s.snapshot.Release()
		s.snapshot = nil
	}
}

// renew refreshes the views and returns the snapshot that they answer from, nil if the subject
// ended before it had one.
func (s *topic) renew() *catalog.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.snapshot
}

// refresh makes all views answer from the current snapshot of the catalog, if they don't yet. The
// caller holds the lock.
func (s *topic) refresh() {
	if s.ended || s.snapshot != nil && !channel.IsClosed(s.snapshot.Stale()) {
		return
	}
	if s.snapshot != nil {
		s.snapshot.Release()
	}
	s.snapshot = s.catalog.Service(s.query.service)
	s.labels.renew()
	changed := false
	var told toldChanges
	for _, v := range s.views {
		next := s.answer(v)
		d, published := v.publish(next)
		if published {
			changed = true
			if s.config.History != nil {
				told.add(v, next, d)
			}
		}
	}
	if changed {
		s.updates.Add(1)
		s.remember(told)
	}
}

// join returns the view for a client's place, which is kept current until leave. Its answer is
// never older than one that another view of the subject has given, nor older than the place.
func (s *topic) join(c catalog.Client) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		v := &view{streams: 1}
		v.current.Store(&response{ended: true})
		return v
	}
	s.refresh()
	f := s.snapshot.FilterKind().For(c)
	v := s.views[f]
	if v == nil {
		v = &view{filter: f}
		first := s.answer(v)
		v.entries = first.entries
		v.current.Store(first)
		s.views[f] = v
	}
	v.streams++
	return v
}

// end ends all streams of the subject, and those that join later.
func (s *topic) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, v := range s.views {
		old := v.current.Load()
		v.current.Store(&response{ended: true})
		close(old.stale)
	}
	// From here on nothing is published.
	s.stop()
}

func (s *topic) leave(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.streams--
	if v.streams == 0 {
		delete(s.views, v.filter)
	}
}

// answer makes the answer of a view from the current snapshot, without steps.
func (s *topic) answer(v *view) *response {
	q := s.query
	set := catalog.Resolve(s.snapshot, catalog.Query{Port: q.port, Hostname: q.hostname, Filter: v.filter, IPv6: s.config.EnableIPv6})
	if !slices.Equal(set.Rivals, v.rivals) {
		s.config.tell(set.Rivals)
		v.rivals = set.Rivals
	}
	x := encoder{s.config, asked{port: q.port, zone: v.filter.Zone}, &s.labels}
	return &response{
		entries: x.entries(set.Endpoints, v.entries),
		exists:  set.Exists,
		pending: set.Pending,
		kind:    s.snapshot.FilterKind(),
		at:      time.Now(),
		stale:   make(chan struct{}),
	}
}

// publish makes next the current answer and wakes the streams, unless it says the same as the
// current one. It reports which of both it was, with the difference.
//
// The steps begin anew when the kind of filter changes: before, the answers may have been for
// other clients than those of this view now.
func (v *view) publish(next *response) (difference, bool) {
	old := v.current.Load()
	v.entries = next.entries
	d := compare(old.entries, next.entries)
	frames := d.frames()
	if len(frames) == 0 && old.kind == next.kind && old.exists == next.exists && old.pending == next.pending {
		return d, false
	}
	next.version = old.version + 1
	if next.kind == old.kind {
		kept := old.steps[max(0, len(old.steps)-ringSize+1):]
		next.steps = append(slices.Clip(kept), frames)
	}
	v.current.Store(next)
	close(old.stale)
	return d, true
}

// topics are the subjects of the questions that streams ask.
type topics struct {
	catalog *catalog.Catalog
	config  *Config
	clients *clientlimits.Clients
	// refused counts what is refused.
	refused func(clientlimits.Refusal)

	running sync.WaitGroup
	mu      sync.Mutex
	m       map[query]*topic
	// undeclared counts the subjects of each Service for ports that it doesn't declare.
	undeclared map[catalog.ServiceKey]int
	ended      bool
}

// acquire returns the subject of a question. Each acquire without an error is followed by one
// release. The error is the status of a question that is one too many.
func (ss *topics) acquire(q query, by subscriber) (*topic, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.m[q]
	if s == nil {
		if err := ss.begin(q, by); err != nil {
			return nil, err
		}
		s = ss.add(q, by)
	}
	s.users++
	return s, nil
}

// add adds a subject that was counted. The caller holds the lock.
func (ss *topics) add(q query, by subscriber) *topic {
	ctx, stop := context.WithCancel(context.Background())
	s := &topic{query: q, firstSubscriber: by, catalog: ss.catalog, config: ss.config, stop: stop, views: map[catalog.Filter]*view{}}
	s.ended = ss.ended
	ss.m[q] = s
	if !ss.ended {
		ss.running.Go(func() { s.run(ctx) })
	}
	return s
}

// begin counts a question that nobody asks yet. The caller holds the lock.
func (ss *topics) begin(q query, by subscriber) error {
	if by.undeclared && ss.undeclared[q.service] >= ss.config.Limits.MaxUndeclaredPorts {
		ss.refused(refusedUndeclaredPort)
		return status.Errorf(codes.ResourceExhausted, "service %s.%s doesn't declare port %d, and clients ask for %d such ports already; declare it",
			q.service.Name, q.service.Namespace, q.port, ss.undeclared[q.service])
	}
	if err := ss.clients.BeginQuestion(by.client); err != nil {
		return err
	}
	if by.undeclared {
		ss.undeclared[q.service]++
	}
	return nil
}

// release ends the subject when this was its last user.
func (ss *topics) release(s *topic) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.users--
	if s.users > 0 {
		return
	}
	delete(ss.m, s.query)
	s.stop()
	ss.clients.EndQuestion(s.firstSubscriber.client)
	if !s.firstSubscriber.undeclared {
		return
	}
	if ss.undeclared[s.query.service]--; ss.undeclared[s.query.service] == 0 {
		delete(ss.undeclared, s.query.service)
	}
}

// end ends all streams, and those that begin later.
func (ss *topics) end() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.ended = true
	for _, s := range ss.m {
		s.end()
	}
}
