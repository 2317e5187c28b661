package destination

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
)

// stream is one Get call. Workers run its steps, one at a time.
type stream struct {
	server  *Server
	subject *topic
	node    string
	out     sender
	caller  caller
	trail   *trail
	// view is the one that the stream follows; nil before the first. It is for clients in zone; moved closes when the
	// client's node is no longer there.
	view  atomic.Pointer[view]
	zone  string
	moved <-chan struct{}
	at    position
	progress
}

// progress is how far a stream is behind. The stream writes it, the metrics read it.
type progress struct {
	// behind is when the answer that is being sent became known, in nanoseconds since 1970; zero
	// while nothing is being sent.
	behind atomic.Int64
	// sent counts the answers of the view up to the one that was sent last; zero if none was.
	sent atomic.Uint64
}

// begin notes that an answer is being sent which became known at this time.
func (p *progress) begin(at time.Time) { p.behind.Store(at.UnixNano()) }

// finish notes that the answer of this version was sent.
func (p *progress) finish(version uint64) {
	p.sent.Store(version + 1)
	p.behind.Store(0)
}

// lag returns how long the answer that is being sent has been known.
func (p *progress) lag(now time.Time) time.Duration {
	at := p.behind.Load()
	if at == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, at)))
}

// sender sends one message; grpc.ServerStream is one.
type sender interface {
	SendMsg(m any) error
}

// position is how far a stream has come.
type position struct {
	told bool // something was sent
	sent []*entry
	// version is that of the last answer of the view that the stream follows. It means
	// nothing before the first one, while joined is false.
	version uint64
	joined  bool
}

// join makes the stream follow the view for the place of its client.
func (s *stream) join() {
	node := s.server.catalog.Node(catalog.LocalCluster, s.node)
	s.zone, s.moved = node.Zone, node.Stale()
	s.at.joined = false
	s.sent.Store(0)
	v := s.subject.join(s.client())
	v.current.Load().fullFrames()
	s.view.Store(v)
}

// client returns who the answers are for.
func (s *stream) client() catalog.Client { return catalog.Client{Node: s.node, Zone: s.zone} }

// step implements followed. The stream joins another view when the client's node has moved to another zone, or when the
// answers about the Service depend on another property of the client.
func (s *stream) step() (w wait, ended bool, err error) {
	for {
		v := s.view.Load()
		a := v.current.Load()
		switch {
		case a.ended:
			return wait{}, true, nil
		case a.kind.For(s.client()) != v.filter || channel.IsClosed(s.moved):
			s.join()
			s.subject.leave(v)
		default:
			return wait{a.stale, s.moved}, false, s.bring(a)
		}
	}
}

// close implements followed.
func (s *stream) close() {
	s.server.gets.remove(s)
	if v := s.view.Load(); v != nil {
		s.subject.leave(v)
	}
	s.server.subjects.release(s.subject)
}

// bring sends what the stream lacks of the answer.
func (s *stream) bring(a *response) error {
	at := &s.at
	since := a.at
	if !at.joined {
		since = time.Now() // the answer may be older than the stream
	}
	s.begin(since)
	if err := s.sendLacking(a); err != nil {
		return err
	}
	s.finish(a.version)
	s.trail.answered(a)
	*at = position{told: at.told || !a.unknown(), sent: a.entries, version: a.version, joined: true}
	return nil
}

func (s *stream) sendLacking(a *response) error {
	at := &s.at
	switch {
	case !at.told && a.unknown():
		return nil
	case !at.told:
		return s.send(a.fullFrames())
	case !at.joined:
		return s.send(changes(at.sent, a.entries))
	}
	steps, ok := a.since(at.version)
	if !ok {
		if a.version-at.version > ringSize {
			s.subject.overflows.Add(1)
		}
		return s.send(changes(at.sent, a.entries))
	}
	for _, frames := range steps {
		if err := s.send(frames); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) send(frames []*frame) error {
	for _, f := range frames {
		if err := s.out.SendMsg(f); err != nil {
			return err
		}
		s.trail.sent(f)
	}
	return nil
}

// streams are the open calls of one method.
type streams[S comparable] struct {
	mu sync.Mutex
	m  map[S]struct{}
}

func newStreams[S comparable]() *streams[S] { return &streams[S]{m: map[S]struct{}{}} }

func (ss *streams[S]) add(s S) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.m[s] = struct{}{}
}

func (ss *streams[S]) remove(s S) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.m, s)
}

// each calls f for every open stream, under the lock.
func (ss *streams[S]) each(f func(S)) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for s := range ss.m {
		f(s)
	}
}
