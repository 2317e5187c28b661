package workload

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

	"github.com/signpostd/signpost/dev/bench/measure"
)

// PerConnection is how many streams share a connection.
const PerConnection = 50

// Clients are many streams for the same Service that measure when each of them
// hears of a change.
type Clients struct {
	Connections
	endpoints int
	Streams   []*Client

	full, Messages, Ended, Seen atomic.Int64
	// awaited is the address that changes, shifted left by one, with the lowest bit set if it
	// is to appear; since is when the change was begun.
	awaited atomic.Uint64
	Since   atomic.Int64
}

// Client is one stream.
type Client struct {
	all       *Clients
	latencies []time.Duration
	first     int // addresses of the first answer so far

	Mu    sync.Mutex          // the reader takes it for each message: holding it stalls the stream
	Exact bool                // whether have is kept
	Have  map[uint32]struct{} // the addresses that the stream knows
	Least int                 // the fewest that it has known after an update since KeepExact
	Last  time.Time           // of the last update
}

// KeepExact makes the stream keep what it knows, which is the pods from up to, but not including, to.
func (s *Client) KeepExact(from, to int) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Exact, s.Least, s.Have = true, to-from, make(map[uint32]struct{}, to-from)
	for i := from; i < to; i++ {
		s.Have[PodNumber(i)] = struct{}{}
	}
}

// Knows reports whether the stream knows a pod and n endpoints altogether.
func (s *Client) Knows(pod, n int) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	_, known := s.Have[PodNumber(pod)]
	return known && len(s.Have) == n
}

// PodNumber is the address of a pod as in messages.
func PodNumber(i int) uint32 {
	ip := PodIP(i).As4()
	return binary.BigEndian.Uint32(ip[:])
}

// Open opens the streams and waits until each has its first answer.
func Open(ctx context.Context, addr string, streams, endpoints int) (*Clients, error) {
	c := &Clients{endpoints: endpoints, Streams: make([]*Client, streams)}
	for i := range c.Streams {
		c.Streams[i] = &Client{all: c}
	}
	err := c.Start(ctx, addr, streams, PerConnection, func(ctx context.Context, i int, conn *grpc.ClientConn) { c.Streams[i].read(ctx, conn) })
	if err != nil {
		return nil, err
	}
	err = measure.Poll(ctx, 2*time.Minute, func() bool { return c.full.Load() >= int64(streams) })
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("%d of %d streams got their first answer: %w", c.full.Load(), streams, err)
	}
	return c, nil
}

func (s *Client) read(ctx context.Context, conn *grpc.ClientConn) {
	stream, err := pb.NewDestinationClient(conn).Get(ctx, &pb.GetDestination{
		Scheme: "k8s", Path: Service + "." + Namespace + ".svc.cluster.local:80", ContextToken: `{"ns":"bench","nodeName":"node-0"}`,
	}, grpc.WaitForReady(true))
	for err == nil {
		var u *pb.Update
		if u, err = stream.Recv(); err == nil {
			s.receive(u)
		}
	}
	if ctx.Err() == nil {
		s.all.Ended.Add(1)
	}
}

func (s *Client) receive(u *pb.Update) {
	now := time.Now()
	s.Mu.Lock()
	defer s.Mu.Unlock()
	c := s.all
	c.Messages.Add(1)
	awaited := c.awaited.Load()
	for _, a := range u.GetAdd().GetAddrs() {
		ip := a.GetAddr().GetIp().GetIpv4()
		if uint64(ip)<<1|1 == awaited {
			s.hit(now)
		}
		if s.Exact {
			s.Have[ip] = struct{}{}
		}
	}
	for _, a := range u.GetRemove().GetAddrs() {
		ip := a.GetIp().GetIpv4()
		if uint64(ip)<<1 == awaited {
			s.hit(now)
		}
		delete(s.Have, ip)
	}
	s.Least, s.Last = min(s.Least, len(s.Have)), now
	if n := len(u.GetAdd().GetAddrs()); s.first < c.endpoints && n > 0 {
		if s.first += n; s.first >= c.endpoints {
			c.full.Add(1)
		}
	}
}

// hit notes that the stream heard of the change that is awaited.
func (s *Client) hit(now time.Time) {
	s.latencies = append(s.latencies, now.Sub(time.Unix(0, s.all.Since.Load())))
	s.all.Seen.Add(1)
}

// Expect tells the streams what to wait for.
func (c *Clients) Expect(t *Toggler) {
	awaited := uint64(PodNumber(0)) << 1
	if t.Absent {
		awaited |= 1 // the next change puts it back
	}
	c.Seen.Store(0)
	c.awaited.Store(awaited)
	c.Since.Store(time.Now().UnixNano())
}

// Latencies returns all that were measured, sorted, and forgets them.
func (c *Clients) Latencies() []time.Duration { return LatenciesOf(c.Streams) }

// LatenciesOf is latencies for some of the streams.
func LatenciesOf(streams []*Client) []time.Duration {
	var all []time.Duration
	for _, s := range streams {
		s.Mu.Lock()
		all = append(all, s.latencies...)
		s.latencies = nil
		s.Mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// Update makes one change and waits until the streams that read have seen it.
func (c *Clients) Update(ctx context.Context, t *Toggler, readers int) error {
	c.Expect(t)
	if err := t.Next(ctx); err != nil {
		return err
	}
	if err := measure.Poll(ctx, 20*time.Second, func() bool { return c.Seen.Load() >= int64(readers) }); err != nil {
		return fmt.Errorf("%d of %d streams heard of the change: %w", c.Seen.Load(), readers, err)
	}
	return nil
}
