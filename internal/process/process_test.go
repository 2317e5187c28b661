package process

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signpostd/signpost/internal/object"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/settings"
)

// served is a process that is served on loopback.
type served struct {
	grpc, admin string
	cancel      context.CancelFunc
	done        chan error
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
	p, err := newProcess(t.Context(), c, log, registry, func(object.Problem) {})
	if err != nil {
		t.Fatal(err)
	}
	return serveRegistered(t, p, registry, nil)
}

func serveRegistered(t *testing.T, p process, registry *prometheus.Registry, change func(*settings.Process)) served {
	t.Helper()
	o := settings.Default().Process
	o.MetricsAddr = "127.0.0.1:0"
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := served{cancel: cancel, done: make(chan error, 1)}
	bound := make(chan struct{})
	go func() {
		s.done <- serveProcess(ctx, p, serving{
			options:  o,
			addr:     "127.0.0.1:0",
			log:      slog.New(slog.DiscardHandler),
			registry: registry,
			bound: func(grpc, admin net.Addr) {
				s.admin = admin.String()
				if grpc != nil {
					s.grpc = grpc.String()
				}
				close(bound)
			},
		})
	}()
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
func registered(server pb.DestinationServer) (all services) {
	pb.RegisterDestinationServer(&all, server)
	return all
}

// Roles share servers. That two of them serve the same is an error.
func TestRolesDontReplaceEachOther(t *testing.T) {
	get := func(r grpc.ServiceRegistrar) { pb.RegisterDestinationServer(r, ending{}) }
	clusters := map[string]http.Handler{"/clusters": http.NotFoundHandler()}
	first := role{Name: "first", Register: get, Handlers: clusters}
	for name, tt := range map[string]struct {
		second role
		want   string
	}{
		"nothing in common": {role{Name: "second", Handlers: map[string]http.Handler{"/streams": http.NotFoundHandler()}}, ""},
		"a gRPC service":    {role{Name: "second", Register: get}, "serve the role second: another role serves io.linkerd.proxy.destination.Destination"},
		"a path":            {role{Name: "second", Handlers: clusters}, "serve the role second: another role has the path /clusters"},
	} {
		t.Run(name, func(t *testing.T) {
			none := func(<-chan struct{}) []run.Actor { return nil }
			first.Actors, tt.second.Actors = none, none
			p, err := joinRoles(roleInput{}, []role{first, tt.second})
			switch {
			case tt.want == "" && (err != nil || len(p.Services) != 1 || len(p.Handlers) != 2):
				t.Errorf("error %v; %d services and %d paths, want 1 and 2", err, len(p.Services), len(p.Handlers))
			case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestServeProcess(t *testing.T) {
	e := ending{ended: make(chan struct{})}
	s := serve(t, process{
		Services: registered(e),
		Actors:   []run.Actor{{Name: "streams", Run: e.Run}},
		Ready:    func() (bool, []string) { return false, []string{"waiting for pods"} },
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
	s := serve(t, process{Services: registered(endless{})},
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
	for flag, change := range map[string]func(*serving){
		"addr":         func(s *serving) { s.addr = taken.Addr().String() },
		"metrics-addr": func(s *serving) { s.options.MetricsAddr = taken.Addr().String() },
	} {
		s := serving{addr: "127.0.0.1:0", options: settings.Default().Process, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry()}
		s.options.MetricsAddr = "127.0.0.1:0"
		change(&s)
		err := serveProcess(t.Context(), process{Services: registered(ending{})}, s)
		if want := "listen on the address of --" + flag + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("serveProcess: %v, want %q", err, want)
		}
	}
}
