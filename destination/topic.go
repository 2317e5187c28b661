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
	"github.com/signpostd/signpost/internal/streams"
)

// query is the query of a Get call: a port of a Service, or of one of its hostnames.
type query struct {
	service  catalog.ServiceKey
	port     uint16
	hostname string
}

// subscriber is the client that queries a Service. undeclared is true if the Service does not declare the
// port.
type subscriber struct {
	client     clientlimits.ClientID
	undeclared bool
}

// view has the responses of a topic for the clients of one filter. The streams of these clients share it.
type view struct {
	filter  catalog.Filter
	current atomic.Pointer[response] // never nil

	// topic.mu guards the fields below. entries are the newest entries; the current response may have older
	// entries that are equal on the wire. memory is the memory of the current response.
	entries   []*entry
	conflicts []catalog.AddressConflict
	streams   int
	memory    clientlimits.Memory
}

// topic has the views of one query. All of them use the same snapshot, so that a stream that joins another
// view never gets an older state. The goroutine of the topic updates the views when the snapshot is stale.
type topic struct {
	query           query
	firstSubscriber subscriber // the query counts against its limits
	catalog         *catalog.Catalog
	config          *Config
	clients         *clientlimits.Clients
	stop            context.CancelFunc
	updates         atomic.Uint64 // counts snapshots that changed a response
	// overflows counts how often a stream was too far behind for the kept steps.
	overflows atomic.Uint64

	mu       sync.Mutex
	snapshot *catalog.Snapshot // nil until first needed
	filters  *catalog.Filters  // those of the snapshot
	views    map[catalog.Filter]*view
	ended    bool
}

// run updates the views until the context ends.
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

// renew updates the views and returns their snapshot, nil if the topic ended before it had one.
func (s *topic) renew() *catalog.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.snapshot
}

// refresh updates all views if the snapshot is stale. The caller holds the lock.
func (s *topic) refresh() {
	if s.ended || s.snapshot != nil && !channel.IsClosed(s.snapshot.Stale()) {
		return
	}
	if s.snapshot != nil {
		s.snapshot.Release()
	}
	s.snapshot = s.catalog.Service(s.query.service)
	// Equal filters are the same, because each view compares them.
	if next := s.snapshot.Filters(); !next.Same(s.filters) {
		s.filters = next
	}
	changed := false
	var changes sentChanges
	for _, v := range s.views {
		next := s.resolve(v)
		d, published := v.publish(next)
		if !published {
			continue
		}
		changed = true
		if s.config.History != nil {
			changes.add(v, next, d)
		}
		if err := v.memory.Resize(next.size()); err != nil {
			s.endView(v, err)
		}
	}
	if changed {
		s.updates.Add(1)
		s.remember(changes)
	}
}

// join returns the view for the place of a client, and keeps the view current until leave. Its response is
// never older than that of another view of the topic, nor older than the known zone of the client. If the
// client needs more memory than the limits allow, the view has ended.
func (s *topic) join(place catalog.Client, by clientlimits.ClientID) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return endedView(nil)
	}
	s.refresh()
	f := s.filters.For(place)
	v := s.views[f]
	if v == nil {
		v = &view{filter: f, memory: s.clients.Memory(by)}
		first := s.resolve(v)
		if err := v.memory.Resize(first.size()); err != nil {
			return endedView(err)
		}
		v.entries = first.entries
		v.current.Store(first)
		s.views[f] = v
	}
	v.streams++
	return v
}

// endedView returns a view of one stream, which ends with the status of an error.
func endedView(err error) *view {
	v := &view{streams: 1}
	v.current.Store(&response{ended: true, err: err})
	return v
}

// end ends all streams of the topic, and those that join later.
func (s *topic) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, v := range s.views {
		s.endView(v, nil)
	}
	// After this, nothing is published.
	s.stop()
}

// endView ends the streams of a view with the status of an error. Streams that join later get another view.
// The caller holds the lock.
func (s *topic) endView(v *view, err error) {
	old := v.current.Load()
	v.current.Store(&response{ended: true, err: err})
	close(old.stale)
	s.drop(v)
}

// drop removes a view from the topic. The caller holds the lock.
func (s *topic) drop(v *view) {
	if s.views[v.filter] == v {
		delete(s.views, v.filter)
	}
	v.memory.Free()
}

func (s *topic) leave(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.streams--
	if v.streams == 0 {
		s.drop(v)
	}
}

// resolve returns the response of a view for the current snapshot, without steps.
func (s *topic) resolve(v *view) *response {
	q := s.query
	set := catalog.Resolve(s.snapshot, catalog.Query{Port: q.port, Hostname: q.hostname, Filter: v.filter, IPv6: s.config.EnableIPv6})
	if !slices.Equal(set.Conflicts, v.conflicts) {
		s.config.reportConflicts(set.Conflicts)
		v.conflicts = set.Conflicts
	}
	x := newEncoder(s.config, addressQuery{port: q.port, zone: v.filter.Zone})
	return &response{
		entries: x.entries(set.Endpoints, v.entries),
		exists:  set.Exists,
		pending: set.Pending,
		filters: s.filters,
		at:      time.Now(),
		stale:   make(chan struct{}),
	}
}

// publish makes next the current response and wakes the streams, unless next equals the current response. It
// reports whether it did so, with the difference.
//
// If the filters of clients change, the steps are dropped, because earlier responses may have been for other
// clients than those of this view.
func (v *view) publish(next *response) (difference, bool) {
	old := v.current.Load()
	v.entries = next.entries
	d := compare(old.entries, next.entries)
	frames := d.frames()
	if len(frames) == 0 && next.filters.Same(old.filters) && old.exists == next.exists && old.pending == next.pending {
		return d, false
	}
	next.version = old.version + 1
	if next.filters.Same(old.filters) {
		next.steps = keptSteps(old.steps, frames, sizeOfEntries(next.entries))
	}
	v.current.Store(next)
	close(old.stale)
	return d, true
}

// topics has the topics of all open streams.
type topics struct {
	catalog *catalog.Catalog
	config  *Config
	clients *clientlimits.Clients
	// refused counts refusals.
	refused func(clientlimits.Refusal, clientlimits.ClientID)

	running sync.WaitGroup
	// undeclared counts the topics for undeclared ports. The lock of m guards it, because m calls the
	// functions that use it.
	m          streams.Map[query, *topic]
	undeclared map[portsOfClient]int
	ended      atomic.Bool
}

// portsOfClient are the ports of a Service that a client was the first to query.
type portsOfClient struct {
	client  clientlimits.ClientID
	service catalog.ServiceKey
}

// acquire returns the topic of a query. Each acquire without an error is followed by one release. The error
// is the status of a query above a limit.
func (ss *topics) acquire(q query, by subscriber) (*topic, error) {
	return ss.m.Acquire(q, func() (*topic, error) {
		if err := ss.begin(q, by); err != nil {
			return nil, err
		}
		ctx, stop := context.WithCancel(context.Background())
		s := &topic{query: q, firstSubscriber: by, catalog: ss.catalog, config: ss.config, clients: ss.clients, stop: stop, views: map[catalog.Filter]*view{}}
		if s.ended = ss.ended.Load(); !s.ended {
			ss.running.Go(func() { s.run(ctx) })
		}
		return s, nil
	})
}

// begin counts a new query against the limits. The Map calls it.
func (ss *topics) begin(q query, by subscriber) error {
	ports := portsOfClient{by.client, q.service}
	if by.undeclared && ss.undeclared[ports] >= ss.config.Limits.MaxUndeclaredPorts {
		ss.refused(refusedUndeclaredPort, by.client)
		return status.Errorf(codes.ResourceExhausted, "service %s.%s doesn't declare port %d, and this client asks for %d such ports already; declare it",
			q.service.Name, q.service.Namespace, q.port, ss.undeclared[ports])
	}
	if err := ss.clients.BeginQuery(by.client); err != nil {
		return err
	}
	if by.undeclared {
		ss.undeclared[ports]++
	}
	return nil
}

// release ends the topic after its last user.
func (ss *topics) release(s *topic) {
	ss.m.Release(s.query, func(s *topic) {
		s.stop()
		ss.clients.EndQuery(s.firstSubscriber.client)
		if !s.firstSubscriber.undeclared {
			return
		}
		ports := portsOfClient{s.firstSubscriber.client, s.query.service}
		if ss.undeclared[ports]--; ss.undeclared[ports] == 0 {
			delete(ss.undeclared, ports)
		}
	})
}

// end ends all streams, and those that are opened later.
func (ss *topics) end() {
	ss.ended.Store(true)
	ss.m.Each((*topic).end)
}
