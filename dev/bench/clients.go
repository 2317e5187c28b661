package main

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
	"google.golang.org/grpc/credentials/insecure"
)

// perConnection is how many streams share a connection.
const perConnection = 50

// The receive windows of the proxy, which also switch off grpc-go's own tuning
// of them.
const (
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20
)

// clients are many streams for the same Service that measure when each of them
// hears of a change.
type clients struct {
	addr      string
	endpoints int

	streams []*client
	conns   []*grpc.ClientConn
	cancel  context.CancelFunc
	running sync.WaitGroup

	full, messages, ended, seen atomic.Int64
	// awaited is the address that changes, shifted left by one, with the lowest bit set if it
	// is to appear; since is when the change was begun.
	awaited atomic.Uint64
	since   atomic.Int64
}

// client is one stream.
type client struct {
	all       *clients
	latencies []time.Duration
	first     int // addresses of the first answer so far

	mu    sync.Mutex          // the reader takes it for each message: holding it stalls the stream
	exact bool                // whether have is kept
	have  map[uint32]struct{} // the addresses that the stream knows
	least int                 // the fewest that it has known after an update since keepExact
	last  time.Time           // of the last update
}

// keepExact makes the stream keep what it knows, which is the pods from up to, but not including, to.
func (s *client) keepExact(from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact, s.least, s.have = true, to-from, make(map[uint32]struct{}, to-from)
	for i := from; i < to; i++ {
		s.have[podNumber(i)] = struct{}{}
	}
}

// knows reports whether the stream knows a pod and n endpoints altogether.
func (s *client) knows(pod, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.have[podNumber(pod)]
	return known && len(s.have) == n
}

// podNumber is the address of a pod as in messages.
func podNumber(i int) uint32 {
	ip := podIP(i).As4()
	return binary.BigEndian.Uint32(ip[:])
}

// open opens the streams and waits until each has its first answer.
func open(ctx context.Context, addr string, streams, endpoints int) (*clients, error) {
	c := &clients{addr: addr, endpoints: endpoints}
	ctx, c.cancel = context.WithCancel(ctx)
	for i := 0; i < streams; i += perConnection {
		if err := c.connect(ctx, min(perConnection, streams-i)); err != nil {
			c.close()
			return nil, err
		}
	}
	err := poll(ctx, 2*time.Minute, func() bool { return c.full.Load() >= int64(streams) })
	if err != nil {
		c.close()
		return nil, fmt.Errorf("%d of %d streams got their first answer: %w", c.full.Load(), streams, err)
	}
	return c, nil
}

// connect opens one more connection with n streams.
func (c *clients) connect(ctx context.Context, n int) error {
	conn, err := grpc.NewClient(c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow))
	if err != nil {
		return err
	}
	c.conns = append(c.conns, conn)
	for range n {
		s := &client{all: c}
		c.streams = append(c.streams, s)
		c.running.Go(func() { s.read(ctx, conn) })
	}
	return nil
}

func (c *clients) close() {
	c.cancel()
	c.running.Wait()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (s *client) read(ctx context.Context, conn *grpc.ClientConn) {
	stream, err := pb.NewDestinationClient(conn).Get(ctx, &pb.GetDestination{
		Scheme: "k8s", Path: service + "." + namespace + ".svc.cluster.local:80", ContextToken: `{"ns":"bench","nodeName":"node-0"}`,
	}, grpc.WaitForReady(true))
	for err == nil {
		var u *pb.Update
		if u, err = stream.Recv(); err == nil {
			s.receive(u)
		}
	}
	if ctx.Err() == nil {
		s.all.ended.Add(1)
	}
}

func (s *client) receive(u *pb.Update) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.all
	c.messages.Add(1)
	awaited := c.awaited.Load()
	for _, a := range u.GetAdd().GetAddrs() {
		ip := a.GetAddr().GetIp().GetIpv4()
		if uint64(ip)<<1|1 == awaited {
			s.hit(now)
		}
		if s.exact {
			s.have[ip] = struct{}{}
		}
	}
	for _, a := range u.GetRemove().GetAddrs() {
		ip := a.GetIp().GetIpv4()
		if uint64(ip)<<1 == awaited {
			s.hit(now)
		}
		delete(s.have, ip)
	}
	s.least, s.last = min(s.least, len(s.have)), now
	if n := len(u.GetAdd().GetAddrs()); s.first < c.endpoints && n > 0 {
		if s.first += n; s.first >= c.endpoints {
			c.full.Add(1)
		}
	}
}

// hit notes that the stream heard of the change that is awaited.
func (s *client) hit(now time.Time) {
	s.latencies = append(s.latencies, now.Sub(time.Unix(0, s.all.since.Load())))
	s.all.seen.Add(1)
}

// expect tells the streams what to wait for.
func (c *clients) expect(t *toggler) {
	awaited := uint64(podNumber(0)) << 1
	if t.absent {
		awaited |= 1 // the next change puts it back
	}
	c.seen.Store(0)
	c.awaited.Store(awaited)
	c.since.Store(time.Now().UnixNano())
}

// latencies returns all that were measured, sorted, and forgets them.
func (c *clients) latencies() []time.Duration { return latenciesOf(c.streams) }

// latenciesOf is latencies for some of the streams.
func latenciesOf(streams []*client) []time.Duration {
	var all []time.Duration
	for _, s := range streams {
		s.mu.Lock()
		all = append(all, s.latencies...)
		s.latencies = nil
		s.mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// quantile returns a quantile of sorted durations in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

// update makes one change and waits until the streams that read have seen it.
func (c *clients) update(ctx context.Context, t *toggler, readers int) error {
	c.expect(t)
	if err := t.next(ctx); err != nil {
		return err
	}
	if err := poll(ctx, 20*time.Second, func() bool { return c.seen.Load() >= int64(readers) }); err != nil {
		return fmt.Errorf("%d of %d streams heard of the change: %w", c.seen.Load(), readers, err)
	}
	return nil
}
