package destination

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
)

// stream is one Get call. Its goroutine is the handler's.
type stream struct {
	server  *Server
	subject *subject
	node    string
	out     sender
	caller  caller
	trail   *trail
	// view is the one that the stream follows; nil before the first.
	view atomic.Pointer[view]
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

// run sends answers until the context or the server ends. It then returns nil, which the client
// sees as the status OK. The error is that of a failed send.
func (s *stream) run(ctx context.Context) error {
	var at position
	for {
		node := s.server.catalog.Node(catalog.LocalCluster, s.node)
		client := catalog.Client{Node: s.node, Zone: node.Zone}
		v := s.subject.join(client)
		ended, err := s.follow(ctx, followed{v, client, node.Stale()}, &at)
		s.subject.leave(v)
		if ended || err != nil {
			return err
		}
	}
}

// followed is the view that a stream follows, and the client that it is for. The channel moved
// closes when the place of the client is out of date.
type followed struct {
	view   *view
	client catalog.Client
	moved  <-chan struct{}
}

// follow sends the answers of a view until the stream ends or needs another view: when the
// client's node has moved to another zone, or when the answers about the Service depend on
// another property of the client.
func (s *stream) follow(ctx context.Context, f followed, at *position) (ended bool, err error) {
	done := ctx.Done()
	at.joined = false
	s.sent.Store(0)
	s.view.Store(f.view)
	for {
		a := f.view.current.Load()
		if a.ended {
			return true, nil
		}
		if a.kind.For(f.client) != f.view.filter || channel.IsClosed(f.moved) {
			return false, nil
		}
		if err := s.bring(a, at); err != nil {
			return true, err
		}
		select {
		case <-a.stale:
		case <-f.moved:
			return false, nil
		case <-done:
			return true, nil
		}
	}
}

// bring sends what the stream lacks of the answer.
func (s *stream) bring(a *answer, at *position) error {
	since := a.at
	if !at.joined {
		since = time.Now() // the answer may be older than the stream
	}
	s.begin(since)
	if err := s.sendLacking(a, at); err != nil {
		return err
	}
	s.finish(a.version)
	s.trail.answered(a)
	*at = position{told: at.told || !a.unknown(), sent: a.entries, version: a.version, joined: true}
	return nil
}

func (s *stream) sendLacking(a *answer, at *position) error {
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
