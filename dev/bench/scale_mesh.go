package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// streamsPerProxy is how many streams a proxy of a mesh has, on one connection.
const streamsPerProxy = 10

// mesh are proxies that ask about the Services of a simulated cluster. Each proxy has a
// connection from an address of its own, as the proxies of pods have.
type mesh struct {
	simulated
	addr string
	// first is the number of the first proxy; no two meshes have proxies with the same address.
	first, proxies int
	// profiles makes every other stream one of GetProfile.
	profiles bool
	// later is how many pods of each Service don't exist yet.
	later int

	streams []*meshStream
	cancel  context.CancelFunc
	running sync.WaitGroup
	conns   []*grpc.ClientConn

	answered, ended, exhausted, messages atomic.Int64
	failure                              atomic.Pointer[error] // the first one
}

// meshStream is one stream of a mesh.
type meshStream struct {
	mesh    *mesh
	service int
	profile bool
	// due is when the proxy began to connect, and took how long its first answer took since then.
	due  time.Time
	took time.Duration

	mu sync.Mutex
	// have are the addresses that the stream knows.
	have map[uint32]struct{}
	// updates are the messages since the first whole answer.
	updates int
	// changed is when something was changed that the stream hasn't heard of; zero for nothing.
	changed   time.Time
	latencies []time.Duration
	// removals is how many addresses were removed, and removed when the last of them was.
	removals int
	removed  time.Time
}

// open lets all proxies connect, spread over a time, and waits until each stream has its first
// answer or has failed.
func (m *mesh) open(ctx context.Context, spread time.Duration) error {
	ctx, m.cancel = context.WithCancel(ctx)
	m.streams = make([]*meshStream, m.proxies*streamsPerProxy)
	m.conns = make([]*grpc.ClientConn, m.proxies)
	begun := time.Now()
	for p := range m.proxies {
		due := begun.Add(spread * time.Duration(p) / time.Duration(m.proxies))
		if err := pause(ctx, time.Until(due)); err != nil {
			return err
		}
		if err := m.connect(ctx, p, due); err != nil {
			return err
		}
	}
	want := int64(len(m.streams))
	if err := pollSlowly(ctx, 2*time.Minute, func() bool { return m.answered.Load()+m.ended.Load() >= want }); err != nil {
		return fmt.Errorf("%d of %d streams were answered: %w", m.answered.Load(), want, err)
	}
	return nil
}

// connect opens the connection and the streams of a proxy.
func (m *mesh) connect(ctx context.Context, p int, due time.Time) error {
	number := m.first + p
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(number/250), byte(1+number%250))}}
	conn, err := grpc.NewClient("passthrough:///"+m.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return from.DialContext(ctx, "tcp", addr) }),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10))
	if err != nil {
		return err
	}
	m.conns[p] = conn
	for i := range streamsPerProxy {
		s := &meshStream{mesh: m, profile: m.profiles && i%2 == 1, due: due, have: map[uint32]struct{}{}}
		// A proxy asks for the profile of a Service, and then for its endpoints.
		s.service = (number*streamsPerProxy + i) % m.services
		if m.profiles {
			s.service = (number*streamsPerProxy + i) / 2 % m.services
		}
		m.streams[p*streamsPerProxy+i] = s
		m.running.Go(func() { s.run(ctx, conn, number) })
	}
	return nil
}

func (m *mesh) close() {
	m.cancel()
	for _, c := range m.conns {
		if c != nil {
			_ = c.Close()
		}
	}
	m.running.Wait()
}

func (s *meshStream) run(ctx context.Context, conn *grpc.ClientConn, proxy int) {
	err := s.follow(ctx, pb.NewDestinationClient(conn), proxy)
	if ctx.Err() != nil {
		return
	}
	m := s.mesh
	m.ended.Add(1)
	if status.Code(err) == codes.ResourceExhausted {
		m.exhausted.Add(1)
	}
	err = fmt.Errorf("a stream of %s: %w", m.serviceName(s.service), err)
	m.failure.CompareAndSwap(nil, &err)
}

func (s *meshStream) follow(ctx context.Context, client pb.DestinationClient, proxy int) error {
	m := s.mesh
	pod := proxy % m.podCount()
	ask := &pb.GetDestination{Scheme: "k8s", ContextToken: fmt.Sprintf(`{"ns":%q,"nodeName":%q,"pod":%q}`,
		m.namespaceOf(pod/m.pods), m.nodeName(pod/podsPerNode), m.podName(pod))}
	if s.profile {
		ask.Path = m.serviceAddress(s.service).String() + ":80"
		stream, err := client.GetProfile(ctx, ask, grpc.WaitForReady(true))
		for err == nil {
			var p *pb.DestinationProfile
			if p, err = stream.Recv(); err == nil && p.GetFullyQualifiedName() != "" {
				s.heard(nil)
			}
		}
		return err
	}
	ask.Path = fmt.Sprintf("%s.%s.svc.cluster.local:80", m.serviceName(s.service), m.namespaceOf(s.service))
	stream, err := client.Get(ctx, ask, grpc.WaitForReady(true))
	for err == nil {
		var u *pb.Update
		if u, err = stream.Recv(); err == nil {
			s.heard(u)
		}
	}
	return err
}

// heard takes a message: an update of Get or, without one, a profile.
func (s *meshStream) heard(u *pb.Update) {
	now := time.Now()
	s.mesh.messages.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range u.GetAdd().GetAddrs() {
		s.have[a.GetAddr().GetIp().GetIpv4()] = struct{}{}
	}
	s.remove(u, now)
	switch {
	case s.took > 0:
		s.updates++
		if !s.changed.IsZero() {
			s.latencies = append(s.latencies, now.Sub(s.changed))
			s.changed = time.Time{}
		}
	// One endpoint may just be not ready.
	case u == nil || len(s.have) >= s.mesh.pods-max(1, s.mesh.later):
		s.took = now.Sub(s.due)
		s.mesh.answered.Add(1)
	}
}

// remove forgets the addresses that an update removes.
func (s *meshStream) remove(u *pb.Update, now time.Time) {
	gone := len(u.GetRemove().GetAddrs())
	for _, a := range u.GetRemove().GetAddrs() {
		delete(s.have, a.GetIp().GetIpv4())
	}
	if u.GetNoEndpoints() != nil {
		gone += len(s.have)
		clear(s.have)
	}
	if gone > 0 {
		s.removals, s.removed = s.removals+gone, now
	}
}

// exact reports whether the stream knows those pods of its Service that are wanted, and no others. The caller holds
// the lock.
func (s *meshStream) exact(wanted func(pod int) bool) bool {
	count := 0
	for p := range s.mesh.pods {
		ip := s.mesh.podAddress(s.service*s.mesh.pods + p).As4()
		_, known := s.have[binary.BigEndian.Uint32(ip[:])]
		if known != wanted(p) {
			return false
		}
		if known {
			count++
		}
	}
	return len(s.have) == count
}

// settle waits until all streams are exact, and returns how many aren't at the end of the limit.
func (m *mesh) settle(ctx context.Context, limit time.Duration, exact func(i int, s *meshStream) bool) (inexact int) {
	_ = pollSlowly(ctx, limit, func() bool {
		inexact = 0
		for i, s := range m.streams {
			s.mu.Lock()
			if !exact(i, s) {
				inexact++
			}
			s.mu.Unlock()
		}
		return inexact == 0
	})
	return inexact
}

// removals returns how many addresses were removed from all streams together, and when the last one was.
func (m *mesh) removals() (n int, last time.Time) {
	for _, s := range m.streams {
		s.mu.Lock()
		n += s.removals
		if s.removed.After(last) {
			last = s.removed
		}
		s.mu.Unlock()
	}
	return n, last
}

// firstAnswers returns how long the first answers took, sorted.
func (m *mesh) firstAnswers() []time.Duration {
	var all []time.Duration
	for _, s := range m.streams {
		s.mu.Lock()
		if s.took > 0 {
			all = append(all, s.took)
		}
		s.mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// failed returns what made the first stream fail, or nil.
func (m *mesh) failed() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}
