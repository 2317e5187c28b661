package destination

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// The status codes of §2.1.
func TestStatusCodes(t *testing.T) {
	text := func(s string) *string { return &s }
	synctest.Test(t, func(t *testing.T) {
		f := start(
			t, testConfig(),
			service("web"),
			service("name", func(s *catalog.Service) { s.ExternalName = true }),
			service("federated", federated("", "web@east")),
			service("nameless", func(s *catalog.Service) { s.RemoteCluster = text("west") }),
			service("remote", remote("west", "web")),
			service("linked", remote("east", "web")),
			service("farname", remote("east", "name")),
			linked("east"), inCluster(service("name", func(s *catalog.Service) { s.ExternalName = true }), "east"),
		)
		for path, want := range map[string]string{
			getPath:                           "open",
			"web.ns.svc.mycluster.local":      "open",
			"web.ns.svc.mycluster.local:5959": "open",
			"h.web.ns.svc.mycluster.local:80": "open",
			"linkerd.io":                      "InvalidArgument", // G1
			"name.ns.svc.cluster.local":       "InvalidArgument", // G2
			"name.ns.svc.mycluster.local":     "InvalidArgument", // G2, with the right domain
			"web.ns.svc.mycluster.local:0":    "InvalidArgument",
			"web.ns.svc.mycluster.local:x":    "InvalidArgument",
			"10.0.0.1:80":                     "InvalidArgument",
			"[fd00::1]:80":                    "InvalidArgument",
			"":                                "InvalidArgument",
			"gone.ns.svc.mycluster.local:80":  "NotFound",
			"web.no.svc.mycluster.local:80":   "NotFound",
			"h.gone.ns.svc.mycluster.local":   "NotFound",
			"nameless.ns.svc.mycluster.local": "FailedPrecondition",
			"remote.ns.svc.mycluster.local":   "NotFound",
			"linked.ns.svc.mycluster.local":   "open",
			"farname.ns.svc.mycluster.local":  "InvalidArgument",

			"federated.ns.svc.mycluster.local": "open",
		} {
			c := f.get(path, "")
			f.settle()
			if got := c.ended(); got != want {
				t.Errorf("%q: %s (%v), want %s", path, got, c.err, want)
			}
			c.cancel()
		}
		f.settle()
	})
}

// A cluster that isn't synced is not empty: a stream waits until it is synced, and then gets all endpoints at
// once.
func TestGetWaitsForSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startUnsynced(t, testConfig(), service("web"))
		web, gone := f.get(getPath, ""), f.get("gone.ns.svc.mycluster.local", "")
		f.change(put(pod("a"), slice("s", at("10.0.0.1", podKey("a")))))
		time.Sleep(time.Hour)
		synctest.Wait()
		if web.ended() != "open" || gone.ended() != "open" || len(web.newMessages()) > 0 {
			t.Fatalf("before the sync: %s and %s", web.ended(), gone.ended())
		}
		f.catalog.MarkSynced()
		f.settle()
		if diff := cmp.Diff([]string{"add 10.0.0.1:8080"}, transcript(web.newMessages())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := gone.ended(); got != "NotFound" {
			t.Errorf("a missing Service: %s", got)
		}
	})
}

// A server that stops before the cluster is synced ends waiting streams with an error. Later streams end at
// once.
func TestGetStoppedBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startUnsynced(t, testConfig(), service("web"))
		waiting := f.get(getPath, "")
		f.settle()
		f.end()
		<-f.ended
		late := f.get(getPath, "")
		f.settle()
		if waiting.ended() != "Unavailable" || late.ended() != "Unavailable" {
			t.Errorf("ended with %s and %s, want Unavailable", waiting.ended(), late.ended())
		}
	})
}

// Streams end with OK when the server stops, and Run returns after them (§2.1, Q32).
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"), service("shop"), pod("a"), slice("s", at("10.0.0.1", podKey("a"))))
		clients := []*client{f.get(getPath, ""), f.get(getPath, `{"nodeName":"n1"}`), f.get("shop.ns.svc.mycluster.local", "")}
		f.settle()
		f.end()
		<-f.ended
		f.settle()
		for i, c := range clients {
			if got := c.ended(); got != "OK" {
				t.Errorf("stream %d ended with %s (%v), want OK", i, got, c.err)
			}
		}
		f.change(put(slice("s"))) // after the last stream
	})
}

// A call that starts while gRPC still serves ends like the others.
func TestCallAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"))
		f.end()
		<-f.ended
		for range 20 {
			late := f.get(getPath, "")
			<-late.done
			if got := late.ended(); got != "OK" {
				t.Fatalf("ended with %s (%v), want OK", got, late.err)
			}
		}
	})
}

// A query that is opened while the server stops gets a response that ends the stream, and starts no
// goroutine.
func TestAcquireAfterEnd(t *testing.T) {
	all := NewServer(settled(t, service("web")), testConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler)).topics
	all.end()
	s := mustAcquire(all.acquire(query{service: serviceKey("web"), port: 80}, subscriber{}))
	v := s.join(catalog.Client{}, clientlimits.ClientID{})
	if !v.current.Load().ended {
		t.Error("the stream continues")
	}
	s.leave(v)
	all.release(s)
	all.running.Wait()
	if all.m.Len() > 0 {
		t.Error("the topic remains")
	}
}

// A call that ends at the deadline of its client has the status DeadlineExceeded, also before the cluster is
// synced. It ended with OK. A call that its client cancelled still does, because nothing reads that status
// (M15).
func TestClientDeadline(t *testing.T) {
	const after = time.Minute
	for name, tc := range map[string]struct {
		unsynced bool
		within   func(context.Context) (context.Context, context.CancelFunc)
		want     codes.Code
	}{
		"deadline": {within: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, after)
		}, want: codes.DeadlineExceeded},
		"deadline, unsynced": {unsynced: true, within: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, after)
		}, want: codes.DeadlineExceeded},
		"cancelled": {within: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(after, cancel)
			return ctx, cancel
		}, want: codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startUnsynced(t, testConfig(), service("web"))
				if !tc.unsynced {
					f.catalog.MarkSynced()
				}
				for method, call := range map[string]func(context.Context) error{
					"Get": func(ctx context.Context) error {
						return f.server.Get(&pb.GetDestination{Path: getPath}, &sink[pb.Update]{ctx: ctx})
					},
					"GetProfile": func(ctx context.Context) error {
						return f.server.GetProfile(&pb.GetDestination{Path: getPath}, &sink[pb.DestinationProfile]{ctx: ctx})
					},
				} {
					ctx, cancel := tc.within(t.Context())
					if got := status.Code(call(ctx)); got != tc.want {
						t.Errorf("%s ended with %s, want %s", method, got, tc.want)
					}
					cancel()
				}
			})
		})
	}
}

// sink is a stream whose sends always succeed.
type sink[M any] struct {
	grpc.ServerStreamingServer[M]
	ctx context.Context
}

func (s *sink[M]) Context() context.Context { return s.ctx }
func (s *sink[M]) SendMsg(any) error        { return nil }

// Calls may start at any moment of a stop.
func TestCallsWhileStopping(t *testing.T) {
	for range 100 {
		server := NewServer(catalog.New(catalog.Options{}), testConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("Run panics: %v", r)
				}
			}()
			_ = server.Run(ctx)
		})
		for range 3 {
			wg.Go(func() { _ = server.Get(&pb.GetDestination{Path: getPath}, noStream{ctx: t.Context()}) })
		}
		for range 5 {
			runtime.Gosched()
		}
		stop()
		wg.Wait()
	}
}

// viewCount returns the number of views of Get.
func (f *fixture) viewCount() int {
	n := 0
	f.server.topics.m.Each(func(s *topic) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n += len(s.views)
	})
	return n
}

// TestMadeUpNodes shows that clients with made-up nodes share one view. Each view has its own copy of the
// encoded endpoints.
func TestMadeUpNodes(t *testing.T) {
	for name, web := range map[string]*catalog.Service{
		"hints": service("web"), "Local": service("web", func(s *catalog.Service) { s.LocalTraffic = true }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hinted := at("10.0.0.1", podKey("a"), func(e *catalog.SliceEndpoint) { e.HintNodes = []string{"n1"} })
				f := start(t, testConfig(), web, pod("a"), slice("s", hinted))
				f.get(getPath, `{"nodeName":"n1"}`)
				for i := range 20 {
					f.get(getPath, fmt.Sprintf(`{"nodeName":"made-up-%d"}`, i))
				}
				f.settle()
				if n := f.viewCount(); n != 2 {
					t.Errorf("there are %d views, want 2", n)
				}
			})
		})
	}
}

// A client that disconnects leaves no state, and the topic ends with the last client.
func TestClientDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"), nodeIn("n1", "east"), nodeIn("n2", "west"), pod("a"), slice("s", at("10.0.0.1", podKey("a"), inZone("east"))))
		first, second, other := f.get(getPath, `{"nodeName":"n1"}`), f.get(getPath, `{"nodeName":"n1"}`), f.get(getPath, `{"nodeName":"n2"}`)
		for i, step := range []struct {
			leaves *client
			want   int
		}{{nil, 2}, {first, 2}, {second, 1}, {other, 0}} {
			if step.leaves != nil {
				step.leaves.cancel()
			}
			f.settle()
			if got := f.viewCount(); got != step.want {
				t.Errorf("step %d: %d views, want %d", i, got, step.want)
			}
		}
		f.expectNoState()
	})
}

// A response, a change and the end over a real connection, in real time.
func TestLoopback(t *testing.T) {
	known := catalog.New(catalog.Options{})
	server := NewServer(known, testConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := grpc.NewServer(server.ServerOptions()...)
	server.Register(s)
	ended := make(chan struct{}, 3)
	run := func(f func()) { go func() { f(); ended <- struct{}{} }() }
	run(func() { _ = known.Run(ctx) })
	run(func() { _ = server.Run(ctx) })
	run(func() { _ = s.Serve(listener) })
	conn := dial(t, func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	})
	objects, crowded := manyEndpoints(1000)
	for _, v := range objects {
		known.Put(v)
	}
	known.MarkSynced()
	stream, err := pb.NewDestinationClient(conn).Get(t.Context(), &pb.GetDestination{Path: getPath})
	if err != nil {
		t.Fatal(err)
	}
	u, err := stream.Recv()
	if err != nil || len(u.GetAdd().GetAddrs()) != 1000 {
		t.Fatalf("first %d addresses, %v", len(u.GetAdd().GetAddrs()), err)
	}
	fewer := *crowded
	fewer.Subsets = []catalog.Subset{{Ports: crowded.Subsets[0].Ports, Endpoints: crowded.Subsets[0].Endpoints[1:]}}
	known.Put(&fewer)
	u, err = stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"remove 10.0.0.0:8080"}, transcript([]*pb.Update{u})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cancel()
	if u, err := stream.Recv(); err == nil || err.Error() != "EOF" {
		t.Errorf("at the end %v, %v", u, err)
	}
	_ = conn.Close()
	s.GracefulStop()
	for range cap(ended) {
		<-ended
	}
}
