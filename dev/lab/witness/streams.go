package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/internal/pause"
)

// Calls of a Client. The last two are ADS streams of xDS, as state of the world and as delta.
const (
	CallGet        = "Get"
	CallGetProfile = "GetProfile"
	CallEDS        = "EDS"
	CallDeltaEDS   = "DeltaEDS"
)

// Settings of the Linkerd proxy: receive windows, pings even without calls, and the retry back-off.
const (
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20
	pingInterval     = 10 * time.Second
	pingWithin       = 3 * time.Second
	connectWithin    = 3 * time.Second
	retryFirst       = 100 * time.Millisecond
	retryAtMost      = 2 * time.Second
)

// Replica is a process that serves the API of a Call.
type Replica struct {
	Name    string // as in the history
	Address string // HOST:PORT
}

// Client requests one target, or several ClusterLoadAssignments, and reconnects when its stream ends.
type Client struct {
	// Replicas are used in turn, the next one for each call.
	Replicas []Replica
	Call     string // CallGet, CallGetProfile, CallEDS or CallDeltaEDS
	Target   string // the path of the request: web.lab.svc.cluster.local:80
	// Names are the names that CallEDS and CallDeltaEDS subscribe to, in place of a Target.
	Names []string
	// ContextToken is empty or a token as proxies send it: {"ns":"lab","nodeName":"node-1"}.
	ContextToken string
	// Connection is the name of a connection to each replica that all clients with the same name share.
	// Without it, a client has its own.
	Connection string
}

// Streams are clients of the Destination API and of xDS.
type Streams struct {
	recorder Recorder
	clients  []*client
	conns    []*grpc.ClientConn
	last     atomic.Int64 // ID of a stream
}

// client is a running Client.
type client struct {
	Client
	number int
	conns  []*grpc.ClientConn // as Replicas
	gate   gate
	// assigned has the assignments of an xDS client, by name. They outlive streams.
	assigned map[string]*assignment
}

// NewStreams returns clients, whose numbers are their indexes in the list. Run connects them.
func NewStreams(clients []Client, recorder Recorder) (*Streams, error) {
	s := &Streams{recorder: recorder}
	conns := map[[2]string]*grpc.ClientConn{}
	for i, c := range clients {
		if c.Connection == "" {
			c.Connection = fmt.Sprint("of client ", i)
		}
		one, err := s.newClient(i, c, conns)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("make client %d (%s): %w", i, c.Call, err)
		}
		s.clients = append(s.clients, one)
	}
	return s, nil
}

func (s *Streams) newClient(number int, c Client, conns map[[2]string]*grpc.ClientConn) (*client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	made := &client{Client: c, number: number, gate: newGate(), assigned: map[string]*assignment{}}
	for _, r := range c.Replicas {
		key := [2]string{c.Connection, r.Address}
		if conns[key] == nil {
			conn, err := connect(r.Address)
			if err != nil {
				return nil, err
			}
			conns[key] = conn
			s.conns = append(s.conns, conn)
		}
		made.conns = append(made.conns, conns[key])
	}
	return made, nil
}

// check returns what is invalid in a client.
func (c Client) check() error {
	asks := c.Target != "" && len(c.Names) == 0
	if c.ofXDS() {
		asks = c.Target == "" && len(c.Names) > 0
	}
	if len(c.Replicas) == 0 || !asks || !slices.Contains([]string{CallGet, CallGetProfile, CallEDS, CallDeltaEDS}, c.Call) {
		return fmt.Errorf("it needs replicas, a call, and a target or, for xDS, names: %+v", c)
	}
	return nil
}

func (c Client) ofXDS() bool { return c.Call == CallEDS || c.Call == CallDeltaEDS }

func connect(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(
		"passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval, Timeout: pingWithin, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			MinConnectTimeout: connectWithin,
			Backoff:           backoff.Config{BaseDelay: retryFirst, Multiplier: 2, MaxDelay: retryAtMost},
		}),
	)
}

func (s *Streams) close() {
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

// Run runs the clients until ctx ends. It records when each stream is opened, each update with all endpoints
// that the client then knows, and when the stream is closed. A call that can't reach its replica is not
// recorded.
func (s *Streams) Run(ctx context.Context) {
	defer s.close()
	var running sync.WaitGroup
	for _, c := range s.clients {
		running.Go(func() { s.run(ctx, c) })
	}
	running.Wait()
}

// Pause makes a client stop reading after the next message, until Resume. Its connection stays open and
// responds to pings. The network buffers hold about 100 KiB; only after that, the replica must merge updates.
func (s *Streams) Pause(client int) { s.clients[client].gate.shut() }

// Resume makes a client read again.
func (s *Streams) Resume(client int) { s.clients[client].gate.open() }

// run opens one stream after the other.
func (s *Streams) run(ctx context.Context, c *client) {
	wait := retryFirst
	for n := 0; ; n++ {
		if s.call(ctx, c, n%len(c.Replicas)) {
			wait = retryFirst
		}
		if pause.For(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, retryAtMost)
	}
}

// call reads one stream to its end, and reports whether it had a response.
func (s *Streams) call(ctx context.Context, c *client, replica int) (responded bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.ofXDS() {
		return s.subscribe(ctx, c, replica)
	}
	next, err := c.open(ctx, c.conns[replica])
	if err != nil {
		return false
	}
	id, at := int(s.last.Add(1)), c.Replicas[replica].Name
	record := func(e history.Stream) {
		e.ID, e.Client, e.Replica, e.Call, e.Target, e.Token = id, c.number, at, c.Call, c.Target, c.ContextToken
		s.recorder.Record(history.Entry{Stream: &e})
	}
	record(history.Stream{Event: history.StreamOpened})
	for {
		update, err := read(ctx, &c.gate, next)
		if err != nil {
			record(history.Stream{Event: history.StreamClosed, Problem: reason(err)})
			return responded
		}
		responded = true
		record(update)
	}
}

// open opens a stream and returns the function that reads it.
func (c *client) open(ctx context.Context, conn *grpc.ClientConn) (next func() (history.Stream, error), err error) {
	request := &pb.GetDestination{Scheme: "k8s", Path: c.Target, ContextToken: c.ContextToken}
	if c.Call == CallGetProfile {
		stream, err := pb.NewDestinationClient(conn).GetProfile(ctx, request)
		return func() (history.Stream, error) {
			profile, err := stream.Recv()
			if err != nil {
				return history.Stream{}, err
			}
			return history.Stream{Event: history.StreamUpdated, Profile: ProfileJSON(profile)}, nil
		}, err
	}
	stream, err := pb.NewDestinationClient(conn).Get(ctx, request)
	var known endpoints
	return func() (history.Stream, error) {
		update, err := stream.Recv()
		if err != nil {
			return history.Stream{}, err
		}
		return known.apply(update), nil
	}, err
}

// reason returns why a stream has ended.
func reason(err error) string {
	if errors.Is(err, io.EOF) {
		return "the replica has ended the stream"
	}
	return cut(err.Error())
}

// gate blocks reads while it is shut.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open
}

func newGate() gate {
	opened := make(chan struct{})
	close(opened)
	return gate{opened: opened}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
		g.opened = make(chan struct{})
	default:
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

// read reads as soon as the gate is open.
func read[T any](ctx context.Context, g *gate, next func() (T, error)) (T, error) {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
	case <-ctx.Done():
	}
	return next()
}
