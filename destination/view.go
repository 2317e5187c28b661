package destination

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
)

// question is what clients ask: a port of a Service, or of one of its hostnames.
type question struct {
	service  catalog.ServiceKey
	port     uint16
	hostname string
}

// view is the answer to a question for the clients of one place: one per
// distinct answer, shared by all streams that want it.
type view struct {
	filter  catalog.Filter
	current atomic.Pointer[answer] // never nil

	// Guarded by subject.mu. entries are the newest ones, which the current answer may
	// not have when they look the same on the wire.
	entries []*entry
	streams int
}

// subject keeps the views of one question in step: all answer from the same
// snapshot, so that a stream that changes views never goes back in time. Its
// goroutine renews them when the snapshot goes stale.
type subject struct {
	question question
	catalog  *catalog.Catalog
	config   *Config
	stop     context.CancelFunc
	updates  atomic.Uint64 // answers that differed from the one before
	users    int           // guarded by subjects.mu

	mu       sync.Mutex
	snapshot *catalog.Snapshot // nil until first needed
	labels   labelSet
	views    map[catalog.Filter]*view
	ended    bool
}

// run renews the views until the context ends.
func (s *subject) run(ctx context.Context) {
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

func (s *subject) releaseSnapshot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot != nil {
		s.snapshot.Release()
		s.snapshot = nil
	}
}

// renew refreshes the views and returns the snapshot that they answer from; nil
// if the subject ended before it had one.
func (s *subject) renew() *catalog.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.snapshot
}

// refresh makes all views answer from the catalog's current snapshot, unless
// they already do. The caller holds the lock.
func (s *subject) refresh() {
	if s.ended || s.snapshot != nil && !channel.IsClosed(s.snapshot.Stale()) {
		return
	}
	if s.snapshot != nil {
		s.snapshot.Release()
	}
	s.snapshot = s.catalog.Service(s.question.service)
	s.labels.renew()
	changed := false
	for _, v := range s.views {
		changed = v.publish(s.answer(v.filter, v.entries)) || changed
	}
	if changed {
		s.updates.Add(1)
	}
}

// join returns the view for a client's place, which stays current until leave.
// Its answer is never older than any that another view of the subject has given,
// nor than the place.
func (s *subject) join(c catalog.Client) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		v := &view{streams: 1}
		v.current.Store(&answer{ended: true})
		return v
	}
	s.refresh()
	f := s.snapshot.FilterKind().For(c)
	v := s.views[f]
	if v == nil {
		v = &view{filter: f}
		first := s.answer(f, nil)
		v.entries = first.entries
		v.current.Store(first)
		s.views[f] = v
	}
	v.streams++
	return v
}

// end makes every stream of the subject, and those yet to come, end.
func (s *subject) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, v := range s.views {
		old := v.current.Load()
		v.current.Store(&answer{ended: true})
		close(old.stale)
	}
	// Nothing is published from here on.
	s.stop()
}

func (s *subject) leave(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.streams--
	if v.streams == 0 {
		delete(s.views, v.filter)
	}
}

// answer answers for a filter from the current snapshot. It has no history yet.
func (s *subject) answer(f catalog.Filter, previous []*entry) *answer {
	q := s.question
	set := catalog.Resolve(s.snapshot, catalog.Query{Port: q.port, Hostname: q.hostname, Filter: f, IPv6: s.config.EnableIPv6})
	x := encoder{s.config, asked{port: q.port, zone: f.Zone}, &s.labels}
	return &answer{
		entries: x.entries(set.Endpoints, previous),
		exists:  set.Exists,
		pending: set.Pending,
		kind:    s.snapshot.FilterKind(),
		at:      time.Now(),
		stale:   make(chan struct{}),
	}
}

// publish makes next the current answer and reports whether it says anything
// new. If it doesn't, streams are left alone.
//
// The steps start anew when the filter's kind changes: while the kind was another
// one, the answers may not have been for the clients that this view has now.
func (v *view) publish(next *answer) bool {
	old := v.current.Load()
	v.entries = next.entries
	frames := changes(old.entries, next.entries)
	if len(frames) == 0 && old.kind == next.kind && old.exists == next.exists && old.pending == next.pending {
		return false
	}
	next.version = old.version + 1
	if next.kind == old.kind {
		kept := old.steps[max(0, len(old.steps)-ringSize+1):]
		next.steps = append(slices.Clip(kept), frames)
	}
	v.current.Store(next)
	close(old.stale)
	return true
}

// subjects are the questions that somebody is asking.
type subjects struct {
	catalog *catalog.Catalog
	config  *Config

	running sync.WaitGroup
	mu      sync.Mutex
	m       map[question]*subject
	ended   bool
}

// acquire returns the subject of a question. Each acquire is followed by one release.
func (ss *subjects) acquire(q question) *subject {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.m[q]
	if s == nil {
		ctx, stop := context.WithCancel(context.Background())
		s = &subject{question: q, catalog: ss.catalog, config: ss.config, stop: stop, views: map[catalog.Filter]*view{}}
		s.ended = ss.ended
		ss.m[q] = s
		if !ss.ended {
			ss.running.Go(func() { s.run(ctx) })
		}
	}
	s.users++
	return s
}

// release ends the subject when this was its last user.
func (ss *subjects) release(s *subject) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.users--
	if s.users == 0 {
		delete(ss.m, s.question)
		s.stop()
	}
}

// end makes all streams end, and those yet to come.
func (ss *subjects) end() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.ended = true
	for _, s := range ss.m {
		s.end()
	}
}
