package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/logtest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConfig returns the configuration of the server in §9.
func testConfig() Config {
	return Config{
		ControllerNamespace: "linkerd", TrustDomain: "trust.domain", ClusterDomain: "mycluster.local", EnableH2Upgrade: true, EnableIPv6: true,
	}
}

// defaultOpaque are the default opaque ports of that configuration.
var defaultOpaque = catalog.PortSet{{Low: 25, High: 25}, {Low: 443, High: 443}, {Low: 587, High: 587}, {Low: 3306, High: 3306}, {Low: 5432, High: 5432}, {Low: 11211, High: 11211}}

// fixture is a catalog and a server over it, with gRPC clients, all in one synctest bubble.
type fixture struct {
	t        *testing.T
	catalog  *catalog.Catalog
	server   *Server
	registry *prometheus.Registry
	conn     *grpc.ClientConn

	log   logtest.Buffer
	level slog.LevelVar // info unless a test sets it
	// listener accepts the connections of clients.
	listener *bufconn.Listener

	grpc *grpc.Server
	// end ends the server's Run, which closes ended when it returns.
	end   context.CancelFunc
	ended chan struct{}
}

// start returns a fixture with the objects.
func start(t *testing.T, config Config, objects ...catalog.Object) *fixture {
	t.Helper()
	f := startUnsynced(t, config, objects...)
	f.catalog.MarkSynced()
	f.settle()
	return f
}

func startUnsynced(t *testing.T, config Config, objects ...catalog.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan struct{})}
	f.catalog = catalog.New(catalog.Options{DefaultOpaquePorts: defaultOpaque})
	f.server = NewServer(f.catalog, config, f.registry, slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: &f.level})))
	for _, v := range objects {
		f.catalog.Put(v)
	}
	serving, end := context.WithCancel(t.Context())
	known, stop := context.WithCancel(t.Context())
	f.end = end
	go func() {
		defer close(f.ended)
		if err := f.server.Run(serving); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.catalog.Run(known) })
	f.grpc = grpc.NewServer(f.server.ServerOptions()...)
	f.server.Register(f.grpc)
	f.listener = bufconn.Listen(1 << 10)
	wg.Go(func() { _ = f.grpc.Serve(f.server.Listener(f.listener)) })
	f.conn = dial(t, f.dial)
	t.Cleanup(func() {
		f.end()
		_ = f.conn.Close()
		f.grpc.Stop()
		<-f.ended
		stop()
		wg.Wait()
		synctest.Wait() // grpc.Server.Stop doesn't wait for the calls
		f.expectNoState()
	})
	return f
}

func (f *fixture) dial(ctx context.Context, _ string) (net.Conn, error) {
	return f.listener.DialContext(ctx)
}

// dial connects with the windows of a proxy (§B.2).
func dial(t *testing.T, dialer func(context.Context, string) (net.Conn, error), more ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///signpost", append(more, grpc.WithContextDialer(dialer), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(1<<20))...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// settle waits until all effects of the changes have happened.
func (f *fixture) settle() { settle() }

// settle waits until all effects of changes have happened. Time is virtual, and the wait is longer
// than any delay of the catalog.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// change puts objects and deletes others, and waits for the effects.
func (f *fixture) change(put []catalog.Object, remove ...catalog.ID) {
	for _, id := range remove {
		f.catalog.Delete(id)
	}
	for _, v := range put {
		f.catalog.Put(v)
	}
	f.settle()
}

// mustAcquire returns the value of an Acquire that must succeed.
func mustAcquire[T any](of T, err error) T {
	if err != nil {
		panic(err)
	}
	return of
}

// expectNoState checks that ended streams leave no state.
func (f *fixture) expectNoState() {
	f.t.Helper()
	if n := f.server.topics.m.Len(); n > 0 {
		f.t.Errorf("%d topics are left without streams", n)
	}
	if n := f.server.profiles.m.Len(); n > 0 {
		f.t.Errorf("%d views of profiles are left without streams", n)
	}
	if n := f.server.profiles.descriptions.Len(); n > 0 {
		f.t.Errorf("%d descriptions are left without a view", n)
	}
	expectNoUsage(f.t, f.server)
	metrics := f.metrics()
	for _, method := range []string{methodGet, methodGetProfile} {
		if n := metrics[fmt.Sprintf("destination_open_streams{method=%q}", method)]; n != 0 {
			f.t.Errorf("%v streams of %s are counted as open", n, method)
		}
	}
	expectNoOverflows(f.t, f.registry)
}

// expectNoUsage checks that clients without streams count for no limit.
func expectNoUsage(t *testing.T, s *Server) {
	t.Helper()
	if !s.clients.Idle() || len(s.topics.undeclared) > 0 {
		t.Errorf("clients without streams count for limits; undeclared ports %v", s.topics.undeclared)
	}
}

// expectNoOverflows checks that no series about a Service remains. The series of overflows remained until the
// end of the process (M12).
func expectNoOverflows(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	for _, name := range []string{"endpoint_updates_queue_overflow", "profile_updates_queue_overflow"} {
		if n, err := testutil.GatherAndCount(registry, name); err != nil || n > 0 {
			t.Errorf("%s has %d series without streams, %v", name, n, err)
		}
	}
}

// client is one Get call with the received messages.
type client struct {
	cancel context.CancelFunc
	reads  chan struct{} // closed when the client begins to read
	done   chan struct{}

	mu      sync.Mutex
	updates []*pb.Update
	err     error // why the call ended; io.EOF for status OK
}

// get starts a call that reads all messages, until it or the test ends.
func (f *fixture) get(path, token string) *client {
	f.t.Helper()
	c := f.getStalled(path, token)
	close(c.reads)
	return c
}

// getStalled starts a call that doesn't read until reads is closed.
func (f *fixture) getStalled(path, token string) *client {
	f.t.Helper()
	return startClient(f.t, f.conn, &pb.GetDestination{Scheme: "k8s", Path: path, ContextToken: token})
}

func startClient(t *testing.T, conn *grpc.ClientConn, request *pb.GetDestination) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := pb.NewDestinationClient(conn).Get(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{cancel: cancel, reads: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		<-c.reads
		for c.read(stream) {
		}
	}()
	return c
}

func (c *client) read(stream grpc.ServerStreamingClient[pb.Update]) bool {
	u, err := stream.Recv()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = err
		return false
	}
	c.updates = append(c.updates, u)
	return true
}

// newMessages returns the messages since the last call.
func (c *client) newMessages() []*pb.Update {
	c.mu.Lock()
	defer c.mu.Unlock()
	updates := c.updates
	c.updates = nil
	return updates
}

// ended returns the status with which the call ended, or "open".
func (c *client) ended() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err == nil:
		return "open"
	case errors.Is(c.err, io.EOF):
		return "OK"
	default:
		return status.Code(c.err).String()
	}
}

// transcript formats messages as lines: "add" or "remove" and the addresses.
func transcript(updates []*pb.Update) []string {
	var lines []string
	for _, u := range updates {
		var words []string
		switch {
		case u.GetAdd() != nil:
			for _, a := range u.GetAdd().GetAddrs() {
				words = append(words, addrPortOf(a.GetAddr()).String())
			}
			slices.Sort(words)
			words = append([]string{"add"}, words...)
		case u.GetRemove() != nil:
			for _, a := range u.GetRemove().GetAddrs() {
				words = append(words, addrPortOf(a).String())
			}
			slices.Sort(words)
			words = append([]string{"remove"}, words...)
		case u.GetNoEndpoints() != nil:
			words = []string{"no_endpoints", fmt.Sprintf("exists=%v", u.GetNoEndpoints().GetExists())}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// receivedFrom returns the addresses that a proxy has after some messages (§B.2), in the form in which they
// were sent.
func receivedFrom(updates []*pb.Update) addressSet {
	known := addressSet{}
	for _, u := range updates {
		for _, a := range u.GetAdd().GetAddrs() {
			known[addrPortOf(a.GetAddr())] = wireOf(a, u.GetAdd().GetMetricLabels())
		}
		for _, a := range u.GetRemove().GetAddrs() {
			delete(known, addrPortOf(a))
		}
		if u.GetNoEndpoints() != nil {
			clear(known)
		}
	}
	return known
}

// metrics returns the value of each series, histograms as their _count and _sum.
func (f *fixture) metrics() map[string]float64 {
	f.t.Helper()
	return metrictest.Series(f.t, f.registry)
}

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// runSteps runs the steps of a stream without a call, until the context or the stream ends.
func runSteps(ctx context.Context, s followed) error {
	for ctx.Err() == nil {
		w, ended, err := s.step()
		if ended || err != nil {
			return err
		}
		select {
		case <-w.changed:
		case <-w.moved:
		case <-ctx.Done():
		}
	}
	return nil
}

// run joins a view, and runs the steps of the stream.
func (s *stream) run(ctx context.Context) error {
	s.join()
	defer func() { s.topic.leave(s.view.Load()) }()
	return runSteps(ctx, s)
}

// run runs the steps of the stream.
func (s *profileStream) run(ctx context.Context) error { return runSteps(ctx, s) }
