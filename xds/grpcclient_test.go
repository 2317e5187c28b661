package xds

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	grpcxds "google.golang.org/grpc/xds"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/bootstrap"
	"github.com/signpostd/signpost/xds/resource"
)

// grpcFixture is a catalog and a server over it that real gRPC clients reach, and the backends of
// web.shop.
type grpcFixture struct {
	t       testing.TB
	catalog *catalog.Catalog
	server  *Server
	web     *catalog.Service
	addr    string // of the server
	config  []byte // of the clients
}

// startGRPCFixture serves at an address of this host.
func startGRPCFixture(t testing.TB) *grpcFixture {
	t.Helper()
	w := &grpcFixture{t: t, catalog: catalog.New(catalog.Options{}), web: service("shop", "web", "grpc:50051")}
	s := NewServer(w.catalog, Config{Namer: resource.Namer{TrustDomain: "cluster.local"}}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.server, w.addr = s, l.Addr().String()
	server := grpc.NewServer(s.ServerOptions()...)
	s.Register(server)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.catalog.Run(ctx) })
	wg.Go(func() { _ = s.Run(ctx) })
	wg.Go(func() { _ = server.Serve(s.Listener(l)) })
	t.Cleanup(func() {
		stop()
		server.Stop()
		wg.Wait()
	})
	w.catalog.MarkSynced()
	<-w.catalog.Synced()
	file, err := bootstrap.Options{Server: "passthrough:///" + l.Addr().String()}.File()
	if err != nil {
		t.Fatal(err)
	}
	if w.config, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	return w
}

// backend is a server of web.shop.
type backend struct {
	healthpb.UnimplementedHealthServer
	calls  atomic.Int32
	addr   netip.AddrPort
	server *grpc.Server
}

// Check implements the health service: it counts the calls.
func (b *backend) Check(ctx context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	b.calls.Add(1)
	return health.NewServer().Check(ctx, r)
}

func (w *grpcFixture) backend(options ...grpc.ServerOption) *backend {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	b := &backend{addr: l.Addr().(*net.TCPAddr).AddrPort(), server: grpc.NewServer(options...)}
	healthpb.RegisterHealthServer(b.server, b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.server.Serve(l)
	}()
	w.t.Cleanup(func() {
		b.server.Stop()
		<-done
	})
	return b
}

// serve makes these the ready backends; the others are in no slice, and draining ones terminate.
func (w *grpcFixture) serve(ready []*backend, draining ...*backend) {
	s := &catalog.EndpointSlice{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web", Service: w.web.Key, AddressType: catalog.IPv4}
	for i, b := range append(ready[:len(ready):len(ready)], draining...) {
		drains := i >= len(ready)
		s.Subsets = append(s.Subsets, catalog.Subset{
			Ports:     []catalog.SubsetPort{{Name: "grpc", Port: b.addr.Port()}},
			Endpoints: []catalog.SliceEndpoint{{Addresses: []netip.Addr{b.addr.Addr()}, NotReady: drains, Draining: drains}},
		})
	}
	w.catalog.Put(s)
}

// dial returns a channel of a real client to a name.
func (w *grpcFixture) dial(name string) healthpb.HealthClient {
	w.t.Helper()
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := grpc.NewClient("xds:///"+name, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return healthpb.NewHealthClient(conn)
}

// call makes one call, which fails when it takes longer than the limit.
func call(t *testing.T, c healthpb.HealthClient, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := c.Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// patience is how long tests wait for what takes milliseconds on a machine that isn't busy.
const patience = 20 * time.Second

// succeeds calls until a call succeeds.
func succeeds(t *testing.T, c healthpb.HealthClient) {
	t.Helper()
	var err error
	for begun := time.Now(); time.Since(begun) < patience; {
		if err = call(t, c, patience); err == nil {
			return
		}
	}
	t.Fatalf("no call succeeds: %v", err)
}

// fails calls until a call fails, and returns why.
func fails(t *testing.T, c healthpb.HealthClient) error {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		if err := call(t, c, patience); err != nil {
			return err
		}
	}
	t.Fatal("all calls succeed")
	return nil
}

// Case 1: a client of grpc-go reaches all endpoints in turns.
func TestGRPCBalances(t *testing.T) {
	w := startGRPCFixture(t)
	a, b := w.backend(), w.backend()
	w.catalog.Put(w.web)
	w.serve([]*backend{a, b})
	c := w.dial("web.shop:50051")
	// The first calls go to the backend that is connected first.
	for begun := time.Now(); a.calls.Load() == 0 || b.calls.Load() == 0; {
		succeeds(t, c)
		if time.Since(begun) > patience {
			t.Fatalf("calls: %d and %d", a.calls.Load(), b.calls.Load())
		}
	}
	before := a.calls.Load()
	const calls = 100
	for range calls {
		if err := call(t, c, patience); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.calls.Load() - before; n < calls/2-1 || n > calls/2+1 {
		t.Errorf("%d of %d calls go to one of two backends", n, calls)
	}
}

// Cases 6 and 7: a name that doesn't exist fails at once, and works on the same channel when the
// Service is created.
func TestGRPCUnknownName(t *testing.T) {
	w := startGRPCFixture(t)
	c := w.dial("web.shop:50051")
	begun := time.Now()
	err := call(t, c, patience)
	if status.Code(err) != codes.Unavailable {
		t.Errorf("an unknown name: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it fails after %v: the client waits 15s for what isn't sent", took)
	}
	w.serve([]*backend{w.backend()})
	w.catalog.Put(w.web)
	succeeds(t, c)
}

// Case 50: a client that knows two addresses of the server asks the second one while the first one
// doesn't know the cluster.
func TestGRPCUnsyncedReplica(t *testing.T) {
	w := startGRPCFixture(t)
	w.catalog.Put(w.web)
	w.serve([]*backend{w.backend()})
	succeeds(t, w.dial("web.shop:50051"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unsynced := NewServer(catalog.New(catalog.Options{}), Config{}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	server, done := grpc.NewServer(), make(chan struct{})
	unsynced.Register(server)
	go func() {
		defer close(done)
		_ = server.Serve(unsynced.Listener(l))
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	two := manual.NewBuilderWithScheme("replicas")
	two.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: l.Addr().String()}, {Addr: w.addr}}})
	resolver.Register(two)
	file, err := bootstrap.Options{Server: "replicas:///signpost"}.File()
	if err != nil {
		t.Fatal(err)
	}
	if w.config, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := call(t, w.dial("web.shop:50051"), patience); err != nil || time.Since(begun) > 10*time.Second {
		t.Errorf("the first call after %v: %v", time.Since(begun), err)
	}
}

// Case 18: with no endpoint calls fail at once; with the next one they succeed on the same channel.
func TestGRPCScaledToZero(t *testing.T) {
	w := startGRPCFixture(t)
	a := w.backend()
	w.catalog.Put(w.web)
	w.serve([]*backend{a})
	c := w.dial("web.shop")
	succeeds(t, c)
	w.serve(nil)
	if err := fails(t, c); status.Code(err) != codes.Unavailable {
		t.Errorf("without endpoints: %v", err)
	}
	w.serve([]*backend{a})
	succeeds(t, c)
}

// Case 15: while pods are replaced one by one, no call fails: each drains before it stops.
func TestGRPCRollout(t *testing.T) {
	w := startGRPCFixture(t)
	old := []*backend{w.backend(), w.backend(), w.backend()}
	w.catalog.Put(w.web)
	w.serve(old)
	c := w.dial("web.shop")
	succeeds(t, c)
	stop, failed := make(chan struct{}), make(chan error, 1)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := call(t, c, patience); err != nil {
					select {
					case failed <- err:
					default:
					}
					return
				}
			}
		})
	}
	for len(old) > 0 {
		next, leaving := w.backend(), old[0]
		ready := append(old[1:len(old):len(old)], next)
		w.serve(ready, leaving)
		waitFor(t, "the new backend is called", func() bool { return next.calls.Load() > 0 })
		waitFor(t, "the draining backend is called no more", quiet(leaving))
		w.serve(ready)
		leaving.server.GracefulStop()
		old = old[1:]
	}
	close(stop)
	wg.Wait()
	select {
	case err := <-failed:
		t.Errorf("a call failed: %v", err)
	default:
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for begun := time.Now(); !holds(); <-ticker.C {
		if time.Since(begun) > patience {
			t.Fatalf("it takes too long until %s", what)
		}
	}
}

// quiet returns a condition that holds once a backend got no call between some checks of it.
func quiet(b *backend) func() bool {
	last, times := int32(-1), 0
	return func() bool {
		n := b.calls.Load()
		if n != last {
			last, times = n, 0
		}
		times++
		return times > 10
	}
}
