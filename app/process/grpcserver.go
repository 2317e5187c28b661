package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/signpostd/signpost/internal/grpcmetrics"
	"github.com/signpostd/signpost/internal/grpcrecover"
	"github.com/signpostd/signpost/internal/run"
)

// readBuffer is the read buffer of a connection. Requests are shorter. The default of grpc-go is 32
// kB, which is most of the memory of an idle proxy's connection.
const readBuffer = 4 << 10

// grpcServer is a gRPC server of a process, before it listens.
type grpcServer struct {
	// Addr is the address to listen on. Setting is the path of the address in a config file, for errors, and
	// LogKey its key in the log.
	Setting, LogKey, Addr string
	Options               []grpc.ServerOption
	// Register adds the services of the role.
	Register func(grpc.ServiceRegistrar)
	// Listener wraps the listener of the server; it may be nil.
	Listener func(net.Listener) net.Listener
}

// interceptors are shared by all gRPC servers of a process: the metrics of spec/destination.md §7.3
// and the recovery from panics. They run before the interceptors of roles, so refused calls are
// counted.
type interceptors struct {
	metrics   *grpcmetrics.Metrics
	recoverer *grpcrecover.Recoverer
}

func newInterceptors(s serving) interceptors {
	return interceptors{
		grpcmetrics.New(s.registry), grpcrecover.New(grpcrecover.Config{Registerer: s.registry, Log: s.log, Panicked: s.panicked}),
	}
}

// actor creates the gRPC server.
func (g grpcServer) actor(shared interceptors, s serving, l net.Listener) run.Actor {
	server := grpc.NewServer(append([]grpc.ServerOption{
		grpc.ReadBufferSize(readBuffer),
		grpc.ChainStreamInterceptor(shared.metrics.StreamInterceptor, shared.recoverer.StreamInterceptor),
		grpc.ChainUnaryInterceptor(shared.recoverer.UnaryInterceptor),
	}, g.Options...)...)
	g.Register(server)
	shared.metrics.Init(server.GetServiceInfo())
	shared.recoverer.Init(server.GetServiceInfo())
	if g.Listener != nil {
		l = g.Listener(l)
	}
	// Streams get half of the grace period, and the work after their end the other half.
	serve := func(ctx context.Context) error { return serveGRPC(ctx, server, l, s.options.ShutdownGrace/2) }
	return run.Actor{Name: "gRPC server on " + g.Addr, Run: serve}
}

// serveGRPC serves until ctx ends. Streams that haven't ended within the grace period are cut off.
func serveGRPC(ctx context.Context, server *grpc.Server, l net.Listener, grace time.Duration) error {
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		cut := time.AfterFunc(grace, server.Stop)
		defer cut.Stop()
		server.GracefulStop()
	})
	err := server.Serve(l)
	if unhook() {
		server.Stop()
		return fmt.Errorf("serve gRPC on %s: %w", l.Addr(), err)
	}
	<-stopped
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC on %s: %w", l.Addr(), err)
	}
	return nil
}
