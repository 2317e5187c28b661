package destination

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// caller is who opened a stream, and when. Nothing but [Server.OpenStreams] uses it.
type caller struct {
	id     uint64
	opened int64 // in nanoseconds since 1970
	peer   netip.AddrPort
	pod    string
	ns     string
}

// callerFrom returns the caller of a stream that is opened.
func (s *Server) callerFrom(ctx context.Context, token contextToken) caller {
	c := caller{id: s.opened.Add(1), opened: time.Now().UnixNano(), pod: token.Pod, ns: token.Namespace}
	if p, ok := peer.FromContext(ctx); ok {
		c.peer, _ = clientlimits.AddrPortOfTCP(p.Addr)
	}
	return c
}

// OpenStream is an open call as it was at one moment.
type OpenStream struct {
	// ID is unique in the process. Method is Get or GetProfile.
	ID     uint64
	Method string
	// Target is the authority that was asked for, in its normal form.
	Target string
	// Service is the zero key for the profile of an address that is not that of a Service.
	Service catalog.ServiceKey
	// Peer is the address of the client; not valid without TCP. Pod, Namespace and Node are what
	// its token says, and may be empty.
	Peer                 netip.AddrPort
	Pod, Namespace, Node string
	// Filter says which clients have the same answers.
	Filter catalog.Filter
	// Endpoints are how many the newest answer has; those of a profile are not counted.
	Endpoints int
	// Sent and Current count the answers of the view: up to the one that was sent last, 0 for
	// none, and up to the newest one.
	Sent, Current uint64
	// Lag is for how long the answer that is being sent has been known.
	Lag    time.Duration
	Opened time.Time
}

// Behind reports whether the client lacks something that is known.
func (o *OpenStream) Behind() bool { return o.Sent != o.Current || o.Lag > 0 }

// OpenStreams returns all open calls, in any order. It holds no lock while it looks at them but the
// short one with which the set of streams is copied.
func (s *Server) OpenStreams() []OpenStream {
	now := time.Now()
	gets, asks := s.gets.all(), s.asks.all()
	list := make([]OpenStream, 0, len(gets)+len(asks))
	targets := map[*topic]string{}
	for _, g := range gets {
		target, ok := targets[g.subject]
		if !ok {
			target = s.config.targetOf(g.subject.query)
			targets[g.subject] = target
		}
		list = append(list, g.inspect(target, now))
	}
	for _, a := range asks {
		list = append(list, a.inspect(now))
	}
	return list
}

// CountStreams returns how many calls are open, and for how many of them an answer has been known
// for longer than a time without having been sent.
func (s *Server) CountStreams(than time.Duration) (open, behind int) {
	now := time.Now()
	look := func(p *progress) {
		open++
		if p.lag(now) > than {
			behind++
		}
	}
	s.gets.each(func(st *stream) { look(&st.progress) })
	s.asks.each(func(st *profileStream) { look(&st.progress) })
	return open, behind
}

// all returns the open streams.
func (ss *streams[S]) all() []S {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	list := make([]S, 0, len(ss.m))
	for s := range ss.m {
		list = append(list, s)
	}
	return list
}

func (c *caller) open(method, node string) OpenStream {
	return OpenStream{ID: c.id, Method: method, Peer: c.peer, Pod: c.pod, Namespace: c.ns, Node: node, Opened: time.Unix(0, c.opened)}
}

func (s *stream) inspect(target string, now time.Time) OpenStream {
	o := s.caller.open("Get", s.node)
	o.Target, o.Service = target, s.subject.query.service
	// In this order: what was sent is never newer than what is current.
	o.Lag, o.Sent = s.lag(now), s.sent.Load()
	if v := s.view.Load(); v != nil {
		a := v.current.Load()
		o.Filter, o.Endpoints, o.Current = v.filter, len(a.entries), a.version+1
		if a.ended {
			o.Current = o.Sent
		}
	}
	return o
}

func (s *profileStream) inspect(now time.Time) OpenStream {
	o := s.caller.open("GetProfile", s.node)
	q := s.view.query
	o.Service, o.Lag, o.Sent = q.Service, s.lag(now), s.sent.Load()
	a := s.view.current.Load()
	if a != nil {
		o.Current = a.version + 1
		if q.IP.IsValid() && (a.snapshot.Subject == catalog.ServiceFound || a.snapshot.Subject == catalog.PortNotDeclared) {
			o.Service = a.snapshot.Service
		}
	}
	if q.IP.IsValid() {
		o.Target = netip.AddrPortFrom(q.IP, q.Port).String()
	} else {
		o.Target = s.server.config.targetOf(query{service: q.Service, port: q.Port, hostname: q.Hostname})
	}
	return o
}

// targetOf returns the authority of a question.
func (c *Config) targetOf(q query) string {
	name := q.service.Name + "." + q.service.Namespace + ".svc." + c.ClusterDomain
	if q.hostname != "" {
		name = q.hostname + "." + name
	}
	return name + ":" + strconv.Itoa(int(q.port))
}

// StreamsOfService returns the open Get calls for a Service, at most limit of them, and how many
// there are.
func (s *Server) StreamsOfService(key catalog.ServiceKey, limit int) (some []OpenStream, all int) {
	list := slices.DeleteFunc(s.gets.all(), func(st *stream) bool { return st.subject.query.service != key })
	now := time.Now()
	for _, st := range list[:min(limit, len(list))] {
		some = append(some, st.inspect(s.config.targetOf(st.subject.query), now))
	}
	return some, len(list)
}

// CountOfServices returns how many Get calls are open for each Service.
func (s *Server) CountOfServices() map[catalog.ServiceKey]int {
	counts := map[catalog.ServiceKey]int{}
	s.gets.each(func(st *stream) { counts[st.subject.query.service]++ })
	return counts
}
