package destination

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// refusedFor returns the number of refusals for a reason.
func (f *fixture) refusedFor(why clientlimits.Refusal) float64 {
	f.t.Helper()
	return f.metrics()[fmt.Sprintf("destination_refused_total{reason=%q}", string(why))]
}

// limited returns a fixture with these limits that serves web.
func limited(t *testing.T, limits clientlimits.Limits) *fixture {
	t.Helper()
	config := testConfig()
	config.Limits = limits
	return start(t, config, service("web"), service("shop"), pod("a"), slice("s", at("10.0.0.1", podKey("a"))))
}

// The size of requests, and of the messages about them, is bounded. 40 queries with a path of 4 MB took the
// server 2 GB, and 40 with a token of 4 MB wrote 640 MB to the log (M3).
func TestRequestLimits(t *testing.T) {
	const calls = 40
	for name, tc := range map[string]struct {
		request *pb.GetDestination
		want    string
		why     clientlimits.Refusal
		logged  int // lines
	}{
		"4 MB of dots":   {&pb.GetDestination{Path: strings.Repeat("a.", 2_000_000) + "svc.cluster.local"}, "ResourceExhausted", clientlimits.RefusedMessage, 1},
		"4 MB of token":  {&pb.GetDestination{Path: getPath, ContextToken: strings.Repeat("\x01", 4_000_000)}, "ResourceExhausted", clientlimits.RefusedMessage, 1},
		"a long path":    {&pb.GetDestination{Path: strings.Repeat("a.", maxPath/2) + "b"}, "InvalidArgument", refusedPath, 1},
		"a long token":   {&pb.GetDestination{Path: getPath, ContextToken: "secret" + strings.Repeat("x", maxToken)}, "open", refusedToken, 1},
		"a broken token": {&pb.GetDestination{Path: getPath, ContextToken: "secret\nlevel=ERROR"}, "open", refusedToken, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := limited(t, clientlimits.Limits{})
				f.log.Take()
				for range calls {
					c := startClient(t, f.conn, tc.request)
					close(c.reads)
					synctest.Wait()
					if got := c.ended(); got != tc.want {
						t.Fatalf("%s, want %s", got, tc.want)
					}
					if message := status.Convert(c.err).Message(); len(message) > 300 {
						t.Fatalf("the status has %d bytes: %s", len(message), message)
					}
					c.cancel()
				}
				if got := f.refusedFor(tc.why); got != calls {
					t.Errorf("%v are counted as %s, want %d", got, tc.why, calls)
				}
				log := f.log.String()
				if n := strings.Count(log, "\n"); n != tc.logged || len(log) > 300*tc.logged || strings.Contains(log, "secret") {
					t.Errorf("%d lines with %d bytes, want %d and no secret:\n%.1000s", n, len(log), tc.logged, log)
				}
				if named := strings.Contains(log, fmt.Sprintf("limit=%s client=", tc.why)); named == (tc.want == "open") {
					t.Errorf("the log names a refused client: %t\n%s", named, log)
				}
				f.settle()
			})
		})
	}
}

// Text of clients is quoted and cut in all statuses.
func TestHostileTextInStatuses(t *testing.T) {
	long := strings.Repeat("a", 400)
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{})
		for _, path := range []string{
			"evil\nlevel=ERROR:80", long + ":x", long, "10.0.0.1\x1b:80", "[fe80::1%" + long + "]:80",
			long + ".ns.svc.mycluster.local", "e\nvil.ns.svc.mycluster.local", "h\n." + "web.ns.svc.mycluster.local",
		} {
			for method, call := range map[string]func(context.Context, *pb.GetDestination) error{
				"Get": func(ctx context.Context, r *pb.GetDestination) error {
					return f.server.Get(r, &sink[pb.Update]{ctx: ctx})
				},
				"GetProfile": func(ctx context.Context, r *pb.GetDestination) error {
					return f.server.GetProfile(r, &sink[pb.DestinationProfile]{ctx: ctx})
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := call(ctx, &pb.GetDestination{Path: path})
				cancel()
				if message := status.Convert(err).Message(); err == nil || len(message) > 300 || strings.ContainsAny(message, "\n\x1b") {
					t.Errorf("%s of %.20q…: %q", method, path, message)
				}
			}
		}
	})
}

// The size of headers is bounded, too. A gRPC client knows the limit and doesn't send larger ones (M3).
func TestHeaderLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{})
		for size, want := range map[int]codes.Code{8 << 10: codes.OK, 20 << 10: codes.Internal} {
			ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("y", size)))
			stream, err := pb.NewDestinationClient(f.conn).Get(ctx, &pb.GetDestination{Path: getPath})
			if err == nil {
				_, err = stream.Recv()
			}
			if got := status.Code(err); got != want {
				t.Errorf("%d bytes of headers: %v, want %s", size, err, want)
			}
			cancel()
		}
		var many []string
		for i := range 100 {
			many = append(many, fmt.Sprint("x", i), "")
		}
		stream, err := pb.NewDestinationClient(f.conn).Get(metadata.AppendToOutgoingContext(t.Context(), many...), &pb.GetDestination{Path: getPath})
		if err == nil {
			_, err = stream.Recv()
		}
		if got := f.refusedFor(clientlimits.RefusedHeaders); status.Code(err) != codes.ResourceExhausted || got != 1 {
			t.Errorf("100 headers: %v, %v refusals", err, got)
		}
		f.settle()
	})
}

// Calls without a request end after a while, and their number per client is limited. They stayed for ever,
// 30,000 on one connection (M3).
func TestSilentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 5
		f := limited(t, clientlimits.Limits{MaxPendingRequests: most})
		var silent []grpc.ClientStream
		for range most + 2 {
			stream, err := f.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, pb.Destination_Get_FullMethodName)
			if err != nil {
				t.Fatal(err)
			}
			silent = append(silent, stream)
			synctest.Wait()
		}
		if got := f.refusedFor(clientlimits.RefusedPending); got != 2 {
			t.Errorf("%v calls are refused, want 2", got)
		}
		time.Sleep(clientlimits.DefaultLimits().RequestTimeout - time.Second)
		synctest.Wait()
		if got := f.refusedFor(clientlimits.RefusedSlow); got != 0 {
			t.Errorf("%v calls are counted as slow", got)
		}
		time.Sleep(2 * time.Second)
		for i, stream := range silent {
			want := codes.DeadlineExceeded
			if i >= most {
				want = codes.ResourceExhausted
			}
			if err := stream.RecvMsg(new(pb.Update)); status.Code(err) != want {
				t.Errorf("call %d ended with %v, want %s", i, err, want)
			}
		}
		if got := f.refusedFor(clientlimits.RefusedSlow); got != most {
			t.Errorf("%v calls are counted as late, want %d", got, most)
		}
		later := f.get(getPath, "")
		f.settle()
		if got := later.ended(); got != "open" {
			t.Errorf("a later call: %s", got)
		}
		time.Sleep(time.Hour)
		if got := later.ended(); got != "open" {
			t.Errorf("after an hour: %s", got)
		}
		later.cancel()
		f.settle()
	})
}

// TestCallsOfOneHost shows that a host can have only so many open calls. A pod with 1,000 connections could
// have 100 million calls with one common query, at 9 kB each.
func TestCallsOfOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{MaxConcurrentStreamsPerHost: 2})
		connect := f.serveHosts()
		call := func() *client {
			conn := dial(t, func(context.Context, string) (net.Conn, error) { return connect("10.1.0.7:40000"), nil })
			t.Cleanup(func() { _ = conn.Close() })
			c := startClient(t, conn, &pb.GetDestination{Scheme: "k8s", Path: getPath})
			close(c.reads)
			f.settle()
			return c
		}
		calls := []*client{call(), call(), call()}
		for i, want := range []string{"open", "open", "ResourceExhausted"} {
			if got := calls[i].ended(); got != want {
				t.Errorf("call %d: %s, want %s", i, got, want)
			}
		}
		if got := f.refusedFor(clientlimits.RefusedStreamOfHost); got != 1 {
			t.Errorf("%v calls are counted as refused", got)
		}
		other := f.get(getPath, "")
		calls[0].cancel()
		f.settle()
		if one, two := call().ended(), other.ended(); one != "open" || two != "open" {
			t.Errorf("after one call ended: %s, and of another client: %s", one, two)
		}
	})
}

// A connection without an HTTP/2 handshake is closed.
func TestHalfOpenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{})
		conn, err := f.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begun := time.Now()
		_, err = io.Copy(io.Discard, conn)
		if took := time.Since(begun); took != clientlimits.DefaultLimits().ConnectionTimeout {
			t.Errorf("closed after %v with %v", took, err)
		}
	})
}

// A proxy keeps its connection with a ping every ten seconds, and its streams for any time. With the default
// of grpc-go it would be disconnected after the third ping.
func TestDefaultLimitsKeepProxies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{})
		conn := dial(t, f.dial, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: true}))
		defer conn.Close()
		c := startClient(t, conn, &pb.GetDestination{Path: getPath})
		close(c.reads)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := c.ended(); got != "open" || len(c.newMessages()) != 1 {
			t.Errorf("after a day: %s (%v)", got, c.err)
		}
		c.cancel()
		f.settle()
	})
}

// A connection without calls is closed after a while; one with a call stays open.
func TestIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{})
		c := f.get(getPath, "")
		f.settle()
		before := f.conn.GetState()
		time.Sleep(2 * clientlimits.DefaultLimits().MaxConnectionIdle)
		synctest.Wait()
		if got := c.ended(); got != "open" || f.conn.GetState() != before {
			t.Errorf("with a call: %s, %s", got, f.conn.GetState())
		}
		c.cancel()
		time.Sleep(clientlimits.DefaultLimits().MaxConnectionIdle + time.Minute)
		synctest.Wait()
		if f.conn.GetState() == before {
			t.Error("without a call the connection is kept")
		}
	})
}

// Queries for undeclared ports are limited, because each different query costs memory: 365 kB for a port of a
// Service of 1,000 endpoints. A client had 2,000 of them (M6).
func TestUndeclaredPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{MaxUndeclaredPorts: 2})
		path := func(port int) string { return fmt.Sprintf("web.ns.svc.mycluster.local:%d", port) }
		first, second := f.get(path(1001), ""), f.get(path(1002), "")
		f.settle()
		for what, want := range map[string]string{
			path(1003): "ResourceExhausted", path(1001): "open", path(80): "open", "h." + path(80): "open", "shop.ns.svc.mycluster.local:1003": "open",
		} {
			c := f.get(what, "")
			f.settle()
			if got := c.ended(); got != want {
				t.Errorf("%s: %s (%v), want %s", what, got, c.err, want)
			}
			c.cancel()
		}
		if got := f.refusedFor(refusedUndeclaredPort); got != 1 {
			t.Errorf("%v are counted, want 1", got)
		}
		first.cancel()
		f.settle()
		again := f.get(path(1003), "")
		f.settle()
		if got := again.ended(); got != "open" {
			t.Errorf("after another one has ended: %s", got)
		}
		again.cancel()
		second.cancel()
		f.settle()
	})
}

// A client that queries undeclared ports leaves those of other clients alone.
func TestUndeclaredPortsOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{MaxUndeclaredPorts: 1})
		connect := f.serveHosts()
		for _, host := range []string{"10.1.0.7", "10.1.0.8"} {
			conn := dial(t, func(context.Context, string) (net.Conn, error) { return connect(host + ":40000"), nil })
			defer conn.Close()
			for port, want := range []string{"open", "ResourceExhausted"} {
				c := startClient(t, conn, &pb.GetDestination{Path: fmt.Sprintf("web.ns.svc.mycluster.local:1%s%d", host[len(host)-1:], port)})
				close(c.reads)
				f.settle()
				if got := c.ended(); got != want {
					t.Errorf("port %d of %s: %s, want %s", port, host, got, want)
				}
			}
		}
	})
}

// The queries of both methods are limited. A query that is open can always be opened again (M6).
func TestQueryLimits(t *testing.T) {
	for why, limits := range map[clientlimits.Refusal]clientlimits.Limits{
		clientlimits.RefusedQuery: {MaxQueries: 2}, clientlimits.RefusedQueryOfClient: {MaxQueriesPerClient: 2},
	} {
		t.Run(string(why), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := limited(t, limits)
				get := f.get(getPath, "")
				profile := func(path, token string) codes.Code {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					stream, err := pb.NewDestinationClient(f.conn).GetProfile(ctx, &pb.GetDestination{Path: path, ContextToken: token})
					if err == nil {
						_, err = stream.Recv()
					}
					return status.Code(err)
				}
				f.settle()
				if got := profile("10.0.0.1:80", ""); got != codes.OK {
					t.Errorf("the second query: %s", got)
				}
				f.settle()
				other := f.get("shop.ns.svc.mycluster.local", "")
				f.settle()
				for what, want := range map[string]codes.Code{"10.0.0.1:80": codes.ResourceExhausted, getPath: codes.ResourceExhausted} {
					if got := profile(what, "ns:elsewhere"); got != want {
						t.Errorf("profile of %s: %s, want %s", what, got, want)
					}
				}
				third, same := f.get("h.web.ns.svc.mycluster.local:80", ""), f.get(getPath, "")
				f.settle()
				if third.ended() != "ResourceExhausted" || same.ended() != "open" {
					t.Errorf("another query: %s; the same: %s", third.ended(), same.ended())
				}
				if got := f.refusedFor(why); got != 3 {
					t.Errorf("%v are counted as %s, want 3", got, why)
				}
				for _, c := range []*client{get, other, same} {
					c.cancel()
				}
				f.settle()
			})
		})
	}
}

// TestResponseMemory shows that the responses that one client needs first are limited in bytes.
// Each port of a Service is a copy of its endpoints: 20,000 queries for 1,000 endpoints of a tenant
// would take 8 GB.
func TestResponseMemory(t *testing.T) {
	const limit = 100 << 10
	ports := func(s *catalog.Service) {
		for port := range uint16(100) {
			s.Ports = append(s.Ports, catalog.ServicePort{Name: "http", Port: 1000 + port, Protocol: catalog.TCP})
		}
	}
	path := func(port int) string { return fmt.Sprintf("web.ns.svc.mycluster.local:%d", port) }
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{MaxResponseBytesPerClient: limit})
		objects, s := manyEndpoints(20)
		objects[0] = service("web", ports)
		f.change(objects)
		var open, refused []*client
		for port := range 100 {
			c := f.get(path(1000+port), "")
			f.settle()
			if c.ended() == "ResourceExhausted" {
				refused = append(refused, c)
			} else {
				open = append(open, c)
			}
		}
		if len(open) < 5 || len(refused) < 5 || f.refusedFor(clientlimits.RefusedMemoryOfClient) != float64(len(refused)) {
			t.Errorf("%d calls are open, %d refused", len(open), len(refused))
		}
		same := f.get(path(1000), "")
		f.settle()
		if got := same.ended(); got != "open" {
			t.Errorf("a query whose response others have: %s", got)
		}
		// The endpoints grow, so that the open calls need more than they may.
		more, _ := manyEndpoints(60)
		f.change(more[2:])
		left := 0
		for _, c := range open {
			switch c.ended() {
			case "open":
				left++
			case "ResourceExhausted":
			default:
				t.Errorf("%s (%v)", c.ended(), c.err)
			}
		}
		if left == 0 || left >= len(open) {
			t.Errorf("%d of %d calls are open after the endpoints have grown", left, len(open))
		}
		f.change([]catalog.Object{s})
		again := f.get(path(1099), "")
		f.settle()
		if got := again.ended(); got != "open" {
			t.Errorf("after the endpoints have shrunk: %s", got)
		}
		for _, c := range append(open, same, again) {
			c.cancel()
		}
		f.settle()
		f.expectNoState()
	})
}

// TestProfileMemory shows that the profiles that one client needs first are limited in bytes, and that a
// profile which grows above the limit ends its streams.
func TestProfileMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, clientlimits.Limits{MaxResponseBytesPerClient: 2_000})
		routes := func(n int) *catalog.ServiceProfile {
			var list []catalog.Route
			for i := range n {
				list = append(list, getRoute(func(r *catalog.Route) { r.Name = strings.Repeat("x", 80) + fmt.Sprint(i) }))
			}
			sp := webProfile(list...)
			sp.Name = "web.ns.svc.mycluster.local"
			return sp
		}
		ended := func(stream pb.Destination_GetProfileClient) codes.Code {
			for {
				if _, err := stream.Recv(); err != nil {
					return status.Code(err)
				}
			}
		}
		open := func() pb.Destination_GetProfileClient {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			t.Cleanup(cancel)
			stream, err := pb.NewDestinationClient(f.conn).GetProfile(ctx, &pb.GetDestination{Path: getPath})
			if err != nil {
				t.Fatal(err)
			}
			return stream
		}
		f.change([]catalog.Object{routes(2)})
		stream := open()
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		f.change([]catalog.Object{routes(50)})
		if got := ended(stream); got != codes.ResourceExhausted {
			t.Errorf("the stream of a profile that grows: %s", got)
		}
		if got := ended(open()); got != codes.ResourceExhausted {
			t.Errorf("a stream of a large profile: %s", got)
		}
		f.change([]catalog.Object{routes(3)})
		if _, err := open().Recv(); err != nil {
			t.Errorf("after the profile has shrunk: %v", err)
		}
	})
}
