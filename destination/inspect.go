package destination

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// caller is the client of a stream and its time of opening, for [Server.OpenStreams].
type caller struct {
	id     uint64
	opened int64 // in nanoseconds since 1970
	peer   netip.AddrPort
	pod    string
	ns     string
}

// callerFrom returns the caller of a new stream.
func (s *Server) callerFrom(ctx context.Context, token contextToken) caller {
	return caller{id: s.opened.Add(1), opened: time.Now().UnixNano(), peer: clientlimits.PeerFrom(ctx), pod: token.Pod, ns: token.Namespace}
}

// OpenStream is the state of an open call.
type OpenStream struct {
	// ID is unique in the process. Method is Get or GetProfile.
	ID     uint64
	Method string
	// Target is the requested authority in its canonical form.
	Target string
	// Service is the zero key for the profile of an address that is no cluster IP.
	Service catalog.ServiceKey
	// Peer is the address of the client; invalid without TCP. Pod, Namespace and Node come from its token and
	// may be empty.
	Peer                 netip.AddrPort
	Pod, Namespace, Node string
	// Filter is that of the view. Clients with the same filter get the same endpoints.
	Filter catalog.Filter
	// Endpoints is the number of endpoints in the current response; zero for a profile.
	Endpoints int
	// Sent and Current count the responses of the view: up to the last one that was sent, 0 for none,
	// and up to the current one.
	Sent, Current uint64
	// Lag is the age of the response that is being sent.
	Lag    time.Duration
	Opened time.Time
}

// Behind reports whether the client has not received the current response.
func (o *OpenStream) Behind() bool { return o.Sent != o.Current || o.Lag > 0 }

// OpenStreams returns all open calls, in any order. It locks the set of streams only while it copies it.
func (s *Server) OpenStreams() []OpenStream {
	now := time.Now()
	getStreams, profileStreams := s.getStreams.All(), s.profileStreams.All()
	list := make([]OpenStream, 0, len(getStreams)+len(profileStreams))
	targets := map[*topic]string{}
	for _, g := range getStreams {
		target, ok := targets[g.topic]
		if !ok {
			target = s.config.targetOf(g.topic.query)
			targets[g.topic] = target
		}
		list = append(list, g.inspect(target, now))
	}
	for _, a := range profileStreams {
		list = append(list, a.inspect(now))
	}
	return list
}

// CountStreams counts the open calls, and those with a lag above than.
func (s *Server) CountStreams(than time.Duration) (open, behind int) {
	now := time.Now()
	add := func(p *progress) {
		open++
		if p.lag(now) > than {
			behind++
		}
	}
	s.getStreams.Each(func(st *stream) { add(&st.progress) })
	s.profileStreams.Each(func(st *profileStream) { add(&st.progress) })
	return open, behind
}

func (c *caller) open(method, node string) OpenStream {
	return OpenStream{ID: c.id, Method: method, Peer: c.peer, Pod: c.pod, Namespace: c.ns, Node: node, Opened: time.Unix(0, c.opened)}
}

func (s *stream) inspect(target string, now time.Time) OpenStream {
	o := s.caller.open("Get", s.node)
	o.Target, o.Service = target, s.topic.query.service
	// sent is read before current, so that it is never newer.
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
		if q.IP.IsValid() && (a.snapshot.Result == catalog.ServiceFound || a.snapshot.Result == catalog.PortNotDeclared) {
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

// targetOf returns the authority of a query.
func (c *Config) targetOf(q query) string {
	return q.service.DNSName(q.hostname, c.ClusterDomain) + ":" + strconv.Itoa(int(q.port))
}

// StreamsOfService returns at most limit open Get calls for a Service, and the number of all of them.
func (s *Server) StreamsOfService(key catalog.ServiceKey, limit int) (some []OpenStream, all int) {
	list := slices.DeleteFunc(s.getStreams.All(), func(st *stream) bool { return st.topic.query.service != key })
	now := time.Now()
	for _, st := range list[:min(limit, len(list))] {
		some = append(some, st.inspect(s.config.targetOf(st.topic.query), now))
	}
	return some, len(list)
}

// CountOfServices returns the number of open Get calls for each Service.
func (s *Server) CountOfServices() map[catalog.ServiceKey]int {
	counts := map[catalog.ServiceKey]int{}
	s.getStreams.Each(func(st *stream) { counts[st.topic.query.service]++ })
	return counts
}
