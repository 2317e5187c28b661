package process

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/run"
)

// served is a process that is served on loopback.
type served struct {
	grpc, admin string
	grpcs       []net.Addr // all gRPC servers; grpc is the first one
	// inspection is empty without a server of its own.
	inspection string
	cancel     context.CancelFunc
	done       chan error
}

func serve(t *testing.T, p process, change func(*settings.Process)) served {
	t.Helper()
	return serveRegistered(t, p, prometheus.NewRegistry(), change)
}

// serveConfig serves the roles of a config.
func serveConfig(t *testing.T, c settings.Config) served {
	t.Helper()
	return serveConfigWith(t, c, slog.New(slog.DiscardHandler))
}

func serveConfigWith(t *testing.T, c settings.Config, log *slog.Logger) served {
	t.Helper()
	registry := prometheus.NewRegistry()
	p, err := newProcess(t.Context(), c, log, registry, func(objectmeta.Problem) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return serveRegistered(t, p, registry, nil)
}

func serveRegistered(t *testing.T, p process, registry *prometheus.Registry, change func(*settings.Process)) served {
	t.Helper()
	return serveWith(t, p, func(s *serving) {
		s.registry = registry
		if change != nil {
			change(&s.options)
		}
	})
}

// serveWith serves a process. A call that panics fails the test, unless change says otherwise.
func serveWith(t *testing.T, p process, change func(*serving)) served {
	t.Helper()
	how := serving{
		options:  settings.Default().Process,
		log:      slog.New(slog.DiscardHandler),
		registry: prometheus.NewRegistry(),
		panicked: func(v any, stack []byte) { t.Errorf("a call panicked: %v\n%s", v, stack) },
	}
	how.options.MetricsAddr = "127.0.0.1:0"
	for i := range p.Servers {
		p.Servers[i].Addr = "127.0.0.1:0"
	}
	change(&how)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := served{cancel: cancel, done: make(chan error, 1)}
	bound := make(chan struct{})
	how.bound = func(grpc []net.Addr, admin, inspection net.Addr) {
		s.admin = admin.String()
		if inspection != nil {
			s.inspection = inspection.String()
		}
		s.grpcs = grpc
		if len(grpc) > 0 {
			s.grpc = grpc[0].String()
		}
		close(bound)
	}
	go func() { s.done <- serveProcess(ctx, p, how) }()
	select {
	case <-bound:
	case err := <-s.done:
		t.Fatalf("serveProcess: %v", err)
	}
	return s
}

func (s served) fetch(t *testing.T, path string) (int, string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport}).Get("http://" + s.admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// openStream returns a stream after its first message.
func (s served) openStream(t *testing.T) grpc.ServerStreamingClient[pb.Update] {
	t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	stream, err := pb.NewDestinationClient(conn).Get(t.Context(), &pb.GetDestination{Path: "web.emoji.svc.cluster.local"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	return stream
}

// ending is a Destination server whose streams end with OK when its role ends.
type ending struct {
	pb.UnimplementedDestinationServer
	ended chan struct{}
}

func (e ending) Get(_ *pb.GetDestination, stream grpc.ServerStreamingServer[pb.Update]) error {
	if err := stream.Send(new(pb.Update)); err != nil {
		return err
	}
	<-e.ended
	return nil
}

// endless is a Destination server whose streams go on until they are cut off.
type endless struct {
	pb.UnimplementedDestinationServer
}

func (endless) Get(_ *pb.GetDestination, stream grpc.ServerStreamingServer[pb.Update]) error {
	if err := stream.Send(new(pb.Update)); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func (e ending) Run(ctx context.Context) error {
	<-ctx.Done()
	close(e.ended)
	return nil
}

// registered returns what a role with this server registers.
func registered(server pb.DestinationServer) []grpcServer {
	return []grpcServer{{Setting: settings.DestinationAddress, Register: func(to grpc.ServiceRegistrar) { pb.RegisterDestinationServer(to, server) }}}
}

// Each role that serves has its own gRPC server.
func TestRolesDontReplaceEachOther(t *testing.T) {
	none := func(<-chan struct{}) []run.Actor { return nil }
	get := &registered(ending{})[0]
	p, err := joinRoles(roleInput{}, []role{{Name: "first", Server: get, Actors: none}, {Name: "second", Actors: none}, {Name: "third", Server: get, Actors: none}})
	if err != nil || len(p.Servers) != 2 {
		t.Errorf("error %v; %d servers, want 2", err, len(p.Servers))
	}
}

func TestServeProcess(t *testing.T) {
	e := ending{ended: make(chan struct{})}
	s := serve(t, process{
		Servers: registered(e),
		Actors:  []run.Actor{{Name: "streams", Run: e.Run}},
		Ready:   func() (bool, []string) { return false, []string{"waiting for pods"} },
	}, nil)
	stream := s.openStream(t)
	if code, body := s.fetch(t, "/ready"); code != 500 || body != "not ready\nwaiting for pods\n" {
		t.Errorf("/ready: %d, %q", code, body)
	}
	if code, _ := s.fetch(t, "/debug/pprof/"); code != 404 {
		t.Errorf("/debug/pprof/: %d, want 404 by default", code)
	}
	_, metrics := s.fetch(t, "/metrics")
	const labels = `grpc_method="Get",grpc_service="io.linkerd.proxy.destination.Destination",grpc_type="server_stream"`
	for _, want := range []string{
		"grpc_server_started_total{" + labels + "} 1",
		"grpc_server_handling_seconds_bucket{" + labels + `,le="3600"} 0`,
		`grpc_server_msg_sent_total{grpc_method="GetProfile"`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	s.cancel()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v, want OK", err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("serveProcess: %v, want no error", err)
	}
}

func TestServeProcessCutsStreams(t *testing.T) {
	s := serve(t, process{Servers: registered(endless{})},
		func(o *settings.Process) { o.ShutdownGrace = 10 * time.Millisecond })
	stream := s.openStream(t)
	s.cancel()
	if err := <-s.done; err != nil {
		t.Errorf("serveProcess: %v, want no error", err)
	}
	if _, err := stream.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v, want to be cut off", err)
	}
}

// broken is a Destination server with a mistake: GetProfile panics.
type broken struct{ ending }

func (broken) GetProfile(*pb.GetDestination, grpc.ServerStreamingServer[pb.DestinationProfile]) error {
	panic("a mistake of ours")
}

// A panic in a call ends only that call. Before, it ended the process with all streams (M1).
func TestPanicCostsOneCall(t *testing.T) {
	e := ending{ended: make(chan struct{})}
	var panics atomic.Int32
	s := serveWith(t, process{Servers: registered(broken{e}), Actors: []run.Actor{{Name: "streams", Run: e.Run}}}, func(s *serving) {
		s.panicked = func(any, []byte) { panics.Add(1) }
	})
	stream := s.openStream(t)
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 3 {
		profile, err := pb.NewDestinationClient(conn).GetProfile(t.Context(), &pb.GetDestination{})
		if err == nil {
			_, err = profile.Recv()
		}
		if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "mistake of ours") {
			t.Errorf("the call ended with %v, want Internal and no details", err)
		}
	}
	_, metrics := s.fetch(t, "/metrics")
	const method = `{grpc_method="GetProfile",grpc_service="io.linkerd.proxy.destination.Destination"`
	for _, want := range []string{
		"grpc_server_panics_total" + method + "} 3",
		`grpc_server_handled_total{grpc_code="Internal",` + method[1:] + `,grpc_type="server_stream"} 3`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if n := panics.Load(); n != 3 {
		t.Errorf("got %d panics, want 3", n)
	}
	s.cancel()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("another stream ended with %v, want OK", err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("serveProcess: %v, want no error", err)
	}
}

// A role wraps the listener of the gRPC server that all roles share.
func TestRolesWrapTheListener(t *testing.T) {
	var wrapped string
	none := func(<-chan struct{}) []run.Actor { return nil }
	p, err := joinRoles(roleInput{}, []role{
		{Name: "first", Actors: none, Server: &grpcServer{Register: func(r grpc.ServiceRegistrar) { pb.RegisterDestinationServer(r, endless{}) }, Listener: func(l net.Listener) net.Listener {
			wrapped = l.Addr().String()
			return l
		}}},
		{Name: "second", Actors: none},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, p, func(o *settings.Process) { o.ShutdownGrace = 10 * time.Millisecond })
	_ = s.openStream(t)
	if wrapped != s.grpc {
		t.Errorf("wrapped %q, want the listener on %s", wrapped, s.grpc)
	}
	s.cancel()
	<-s.done
}

func TestServeProcessEndsWithAnActor(t *testing.T) {
	broken := errors.New("broken")
	s := serve(t, process{
		Actors: []run.Actor{{Name: "cluster", Run: func(context.Context) error { return broken }}},
	}, nil)
	if err := <-s.done; !errors.Is(err, broken) || err.Error() != "cluster: broken" {
		t.Errorf("serveProcess: %v, want the error of the actor under its name", err)
	}
}

func TestServeProcessNeedsItsAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for flag, change := range map[string]func(*process, *serving){
		"addr":         func(p *process, _ *serving) { p.Servers[0].Addr = taken.Addr().String() },
		"metrics-addr": func(_ *process, s *serving) { s.options.MetricsAddr = taken.Addr().String() },
		"inspect-addr": func(p *process, s *serving) {
			p.Inspection.Status = func() inspect.Status { return inspect.Status{} }
			s.options.InspectAddr = taken.Addr().String()
		},
	} {
		p := process{Servers: registered(ending{})}
		p.Servers[0].Addr = "127.0.0.1:0"
		config := settings.Default()
		config.RunsDestination = true
		s := serving{options: config.Process, origin: config.Origin, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry()}
		s.options.MetricsAddr = "127.0.0.1:0"
		change(&p, &s)
		err := serveProcess(t.Context(), p, s)
		if want := "listen on the address of --" + flag + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("serveProcess: %v, want %q", err, want)
		}
	}
}
