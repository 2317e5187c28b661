package destination

import (
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/streams"
)

// stream is one Get call. Workers run its steps, one at a time.
type stream struct {
	server *Server
	topic  *topic
	node   string
	client clientlimits.ClientID
	out    sender
	// connection counts the messages that the client has not read.
	connection *clientlimits.Connection
	caller     caller
	callLog    *callLog
	// view is the view that the stream follows; nil before the first. It is the view for clients in zone.
	// moved closes when the node of the client changes its zone.
	view  atomic.Pointer[view]
	zone  string
	moved <-chan struct{}
	at    position
	// sending is the response that is being sent; nil for none. Any goroutine may read it.
	sending atomic.Pointer[response]
	progress
}

// progress is the progress of a stream. The stream writes it, the metrics read it.
type progress struct {
	// behind is the lag of the response that is being sent.
	behind streams.Lag
	// sent counts the responses of the view up to the last one that was sent; zero if none was.
	sent atomic.Uint64
}

// finish records that the response of this version was sent.
func (p *progress) finish(version uint64) {
	p.sent.Store(version + 1)
	p.behind.End()
}

func (p *progress) lag(now time.Time) time.Duration { return p.behind.At(now) }

// sender sends one message, such as a grpc.ServerStream.
type sender interface {
	SendMsg(m any) error
}

// position is the last response that a stream sent.
type position struct {
	started bool // a message was sent
	sent    []*entry
	// version is the version of the last response of the followed view, valid if joined is true.
	version uint64
	joined  bool
}

// join makes the stream follow the view for the node and zone of its client.
func (s *stream) join() {
	node := s.server.catalog.Node(catalog.LocalCluster, s.node)
	s.zone, s.moved = node.Zone, node.Stale()
	s.at.joined = false
	s.sent.Store(0)
	v := s.topic.join(s.place(), s.client)
	v.current.Load().fullFrames()
	s.view.Store(v)
}

func (s *stream) place() catalog.Client { return catalog.Client{Node: s.node, Zone: s.zone} }

// step implements followed. The stream joins another view if the node of the client has moved to another
// zone, or if the endpoints of the Service depend on another property of clients.
func (s *stream) step() (w wake, ended bool, err error) {
	for {
		v := s.view.Load()
		a := v.current.Load()
		switch {
		case a.ended:
			return wake{}, true, a.err
		case a.filters.For(s.place()) != v.filter || channel.IsClosed(s.moved):
			s.join()
			s.topic.leave(v)
		default:
			w.changed = a.stale
			// Without a filter, the zone of the client makes no difference, and a select on a channel that
			// many streams share makes each wake-up slower.
			if a.filters.Kind != catalog.FilterNone {
				w.moved = s.moved
			}
			return w, false, s.sendResponse(a)
		}
	}
}

// close implements followed.
func (s *stream) close() {
	s.server.getStreams.Remove(s)
	if v := s.view.Load(); v != nil {
		s.topic.leave(v)
	}
	s.server.topics.release(s.topic)
}

// sendResponse sends the changes since the last response.
func (s *stream) sendResponse(a *response) error {
	at := &s.at
	since := a.at
	if !at.joined {
		since = time.Now() // the response may be older than the stream
	}
	s.sending.Store(a)
	s.behind.Begin(since)
	if err := s.sendMissing(a); err != nil {
		return err
	}
	s.finish(a.version)
	s.sending.Store(nil)
	s.callLog.responseSent(a)
	*at = position{started: at.started || !a.unknown(), sent: a.entries, version: a.version, joined: true}
	return nil
}

func (s *stream) sendMissing(a *response) error {
	at := &s.at
	switch {
	case !at.started && a.unknown():
		return nil
	case !at.started:
		return s.send(a.fullFrames())
	case !at.joined:
		return s.send(changes(at.sent, a.entries))
	}
	steps, ok := a.since(at.version)
	if !ok {
		if a.version-at.version > ringSize {
			s.topic.overflows.Add(1)
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
		if err := s.out.SendMsg(s.connection.Message(&f.bytes)); err != nil {
			return err
		}
		s.callLog.sent(f)
	}
	return nil
}
