package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/signpostd/signpost/internal/grpcmetrics"
	"github.com/signpostd/signpost/internal/grpcrecover"
	"github.com/signpostd/signpost/internal/run"
)

// readBuffer is the read buffer of a connection. Requests are shorter. The default of grpc-go is 32
// kB, which is most of the memory of an idle proxy's connection.
const readBuffer = 4 << 10

// newGRPCActor creates the gRPC server of a process, with the metrics of spec/destination.md §7.3.
// They include calls that interceptors of roles refuse.
func newGRPCActor(p process, s serving, l net.Listener) run.Actor {
	metrics := grpcmetrics.New(s.registry)
	recoverer := grpcrecover.New(grpcrecover.Config{Registerer: s.registry, Log: s.log, Panicked: s.panicked})
	server := grpc.NewServer(append([]grpc.ServerOption{
		grpc.ReadBufferSize(readBuffer),
		grpc.ChainStreamInterceptor(metrics.StreamInterceptor, recoverer.StreamInterceptor),
		grpc.ChainUnaryInterceptor(recoverer.UnaryInterceptor),
	}, p.ServerOptions...)...)
	for _, s := range p.Services {
		server.RegisterService(s.description, s.implementation)
	}
	metrics.Init(server.GetServiceInfo())
	recoverer.Init(server.GetServiceInfo())
	for _, wrap := range p.Listeners {
		l = wrap(l)
	}
	// Streams get half of the grace period, and the work after their end the other half.
	serve := func(ctx context.Context) error { return serveGRPC(ctx, server, l, s.options.ShutdownGrace/2) }
	return run.Actor{Name: "gRPC server", Run: serve}
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

// service is a service of a gRPC server.
type service struct {
	description    *grpc.ServiceDesc
	implementation any
}

// services collects the services of roles before there is a gRPC server, which would end the
// process if a name is registered twice.
type services []service

// RegisterService implements grpc.ServiceRegistrar.
func (s *services) RegisterService(description *grpc.ServiceDesc, implementation any) {
	*s = append(*s, service{description, implementation})
}

// has reports whether there is a service of this name.
func (s services) has(name string) bool {
	return slices.ContainsFunc(s, func(of service) bool { return of.description.ServiceName == name })
}
