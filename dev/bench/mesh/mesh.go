// Package mesh has the proxies of a simulated cluster: streams of Get and GetProfile on many connections.
//
// Each proxy connects from an address of its own, as the proxies of pods do, because limits are per client
// address. A stream keeps the addresses that it knows, so that a bench can compare them with the cluster. One
// goroutine reads each stream, and the fields of a Stream are guarded by its mutex.
package mesh

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/simulation"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// StreamsPerProxy is how many streams a proxy of a mesh has, on one connection.
const StreamsPerProxy = 10

// Mesh are proxies that ask about the Services of a simulated cluster. Each proxy has a
// connection from an address of its own, as the proxies of pods have.
type Mesh struct {
	simulation.Size
	Addr string
	// First is the number of the first proxy; no two meshes have proxies with the same address.
	First, Proxies int
	// Profiles makes every other stream one of GetProfile.
	Profiles bool
	// Later is how many pods of each Service don't exist yet.
	Later int

	Streams []*Stream
	cancel  context.CancelFunc
	running sync.WaitGroup
	conns   []*grpc.ClientConn

	answered, Ended, Exhausted, messages atomic.Int64
	failure                              atomic.Pointer[error] // the first one
}

// Stream is one stream of a mesh.
type Stream struct {
	Mesh    *Mesh
	Service int
	profile bool
	// due is when the proxy began to connect, and took how long its first answer took since then.
	due  time.Time
	took time.Duration

	Mu sync.Mutex
	// Have are the addresses that the stream knows.
	Have map[uint32]struct{}
	// Updates are the messages since the first whole answer.
	Updates int
	// Changed is when something was changed that the stream hasn't received; zero for none.
	Changed   time.Time
	Latencies []time.Duration
	// Removals is how many addresses were removed, and removed when the last of them was.
	Removals int
	Removed  time.Time
}

// Open lets all proxies connect, spread over a time, and waits until each stream has its first
// answer or has failed.
func (m *Mesh) Open(ctx context.Context, spread time.Duration) error {
	ctx, m.cancel = context.WithCancel(ctx)
	m.Streams = make([]*Stream, m.Proxies*StreamsPerProxy)
	m.conns = make([]*grpc.ClientConn, m.Proxies)
	begun := time.Now()
	for p := range m.Proxies {
		due := begun.Add(spread * time.Duration(p) / time.Duration(m.Proxies))
		if err := measure.Pause(ctx, time.Until(due)); err != nil {
			return err
		}
		if err := m.connect(ctx, p, due); err != nil {
			return err
		}
	}
	want := int64(len(m.Streams))
	if err := measure.PollSlowly(ctx, 2*time.Minute, func() bool { return m.answered.Load()+m.Ended.Load() >= want }); err != nil {
		return fmt.Errorf("%d of %d streams were answered: %w", m.answered.Load(), want, err)
	}
	return nil
}

// connect opens the connection and the streams of a proxy.
func (m *Mesh) connect(ctx context.Context, p int, due time.Time) error {
	number := m.First + p
	conn, err := workload.DialFrom(number, m.Addr)
	if err != nil {
		return err
	}
	m.conns[p] = conn
	for i := range StreamsPerProxy {
		s := &Stream{Mesh: m, profile: m.Profiles && i%2 == 1, due: due, Have: map[uint32]struct{}{}}
		// A proxy asks for the profile of a Service, and then for its endpoints.
		s.Service = (number*StreamsPerProxy + i) % m.Services
		if m.Profiles {
			s.Service = (number*StreamsPerProxy + i) / 2 % m.Services
		}
		m.Streams[p*StreamsPerProxy+i] = s
		m.running.Go(func() { s.run(ctx, conn, number) })
	}
	return nil
}

// Close closes all connections.
func (m *Mesh) Close() {
	m.cancel()
	for _, c := range m.conns {
		if c != nil {
			_ = c.Close()
		}
	}
	m.running.Wait()
}

func (s *Stream) run(ctx context.Context, conn *grpc.ClientConn, proxy int) {
	err := s.follow(ctx, pb.NewDestinationClient(conn), proxy)
	if ctx.Err() != nil {
		return
	}
	m := s.Mesh
	m.Ended.Add(1)
	if status.Code(err) == codes.ResourceExhausted {
		m.Exhausted.Add(1)
	}
	err = fmt.Errorf("a stream of %s: %w", m.ServiceName(s.Service), err)
	m.failure.CompareAndSwap(nil, &err)
}

func (s *Stream) follow(ctx context.Context, client pb.DestinationClient, proxy int) error {
	m := s.Mesh
	pod := proxy % m.PodCount()
	ask := &pb.GetDestination{Scheme: "k8s", ContextToken: fmt.Sprintf(`{"ns":%q,"nodeName":%q,"pod":%q}`,
		m.NamespaceOf(pod/m.Pods), m.NodeName(pod/simulation.PodsPerNode), m.PodName(pod))}
	if s.profile {
		ask.Path = m.ServiceAddress(s.Service).String() + ":80"
		stream, err := client.GetProfile(ctx, ask, grpc.WaitForReady(true))
		for err == nil {
			var p *pb.DestinationProfile
			if p, err = stream.Recv(); err == nil && p.GetFullyQualifiedName() != "" {
				s.receive(nil)
			}
		}
		return err
	}
	ask.Path = fmt.Sprintf("%s.%s.svc.cluster.local:80", m.ServiceName(s.Service), m.NamespaceOf(s.Service))
	stream, err := client.Get(ctx, ask, grpc.WaitForReady(true))
	for err == nil {
		var u *pb.Update
		if u, err = stream.Recv(); err == nil {
			s.receive(u)
		}
	}
	return err
}

// receive takes a message: an update of Get or, without one, a profile.
func (s *Stream) receive(u *pb.Update) {
	now := time.Now()
	s.Mesh.messages.Add(1)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, a := range u.GetAdd().GetAddrs() {
		s.Have[a.GetAddr().GetIp().GetIpv4()] = struct{}{}
	}
	s.Remove(u, now)
	switch {
	case s.took > 0:
		s.Updates++
		if !s.Changed.IsZero() {
			s.Latencies = append(s.Latencies, now.Sub(s.Changed))
			s.Changed = time.Time{}
		}
	// One endpoint may just be not ready.
	case u == nil || len(s.Have) >= s.Mesh.Pods-max(1, s.Mesh.Later):
		s.took = now.Sub(s.due)
		s.Mesh.answered.Add(1)
	}
}

// Remove forgets the addresses that an update removes.
func (s *Stream) Remove(u *pb.Update, now time.Time) {
	gone := len(u.GetRemove().GetAddrs())
	for _, a := range u.GetRemove().GetAddrs() {
		delete(s.Have, a.GetIp().GetIpv4())
	}
	if u.GetNoEndpoints() != nil {
		gone += len(s.Have)
		clear(s.Have)
	}
	if gone > 0 {
		s.Removals, s.Removed = s.Removals+gone, now
	}
}

// Exact reports whether the stream knows those pods of its Service that are wanted, and no others. The caller
// holds the lock.
func (s *Stream) Exact(wanted func(pod int) bool) bool {
	count := 0
	for p := range s.Mesh.Pods {
		ip := s.Mesh.PodAddress(s.Service*s.Mesh.Pods + p).As4()
		_, known := s.Have[binary.BigEndian.Uint32(ip[:])]
		if known != wanted(p) {
			return false
		}
		if known {
			count++
		}
	}
	return len(s.Have) == count
}

// Settle waits until all streams are exact, and returns how many aren't at the end of the limit.
func (m *Mesh) Settle(ctx context.Context, limit time.Duration, exact func(i int, s *Stream) bool) (inexact int) {
	_ = measure.PollSlowly(ctx, limit, func() bool {
		inexact = 0
		for i, s := range m.Streams {
			s.Mu.Lock()
			if !exact(i, s) {
				inexact++
			}
			s.Mu.Unlock()
		}
		return inexact == 0
	})
	return inexact
}

// Removals returns how many addresses were removed from all streams together, and when the last one was.
func (m *Mesh) Removals() (n int, last time.Time) {
	for _, s := range m.Streams {
		s.Mu.Lock()
		n += s.Removals
		if s.Removed.After(last) {
			last = s.Removed
		}
		s.Mu.Unlock()
	}
	return n, last
}

// FirstAnswers returns how long the first answers took, sorted.
func (m *Mesh) FirstAnswers() []time.Duration {
	var all []time.Duration
	for _, s := range m.Streams {
		s.Mu.Lock()
		if s.took > 0 {
			all = append(all, s.took)
		}
		s.Mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// Failed returns what made the first stream fail, or nil.
func (m *Mesh) Failed() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Failures returns the number of failed streams, with the first error.
func Failures(m *Mesh) string {
	if err := m.Failed(); err != nil {
		return fmt.Sprintf("%d: %v", m.Ended.Load(), err)
	}
	return "0"
}
