package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// The ports of pods. The Service has the first one as it is, and the second one as 80.
const (
	grpcPort = 50051
	httpPort = 8080
)

// slowness is how long a call of Slow takes.
const slowness = 5 * time.Second

// backend is a pod: a gRPC server and an HTTP server, both of which answer with its name.
type backend struct {
	name    string
	address netip.Addr
	zone    string
	// pod is the name of the pod in the API that is the target of its endpoint; empty for an endpoint without
	// one.
	pod   string
	state state
	// broken makes its calls fail.
	broken atomic.Bool
	grpc   *grpc.Server
	http   *http.Server
}

// state is what an EndpointSlice says about a pod.
type state int

const (
	ready state = iota
	draining
	starting
)

// startBackend starts a pod. The options are those of its gRPC server.
func startBackend(ctx context.Context, name string, address netip.Addr, options ...grpc.ServerOption) (*backend, error) {
	b := &backend{name: name, address: address, grpc: grpc.NewServer(options...)}
	b.http = &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	b.grpc.RegisterService(b.description(), b)
	for _, server := range []struct {
		port  uint16
		serve func(net.Listener) error
	}{{grpcPort, b.grpc.Serve}, {httpPort, b.http.Serve}} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(address, server.port).String())
		if err != nil {
			b.kill()
			return nil, fmt.Errorf("start pod %s: %w", name, err)
		}
		go func() { _ = server.serve(l) }() // ends with an error when the pod stops
	}
	return b, nil
}

// stop ends the pod as a server does that gets SIGTERM: with the calls that run.
func (b *backend) stop(ctx context.Context) error {
	b.grpc.GracefulStop()
	if err := b.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop pod %s: %w", b.name, err)
	}
	return nil
}

// kill ends the pod at once.
func (b *backend) kill() {
	b.grpc.Stop()
	_ = b.http.Close()
}

// ServeHTTP implements http.Handler: it answers with the name.
func (b *backend) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if b.broken.Load() {
		http.Error(w, b.name+" is broken", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte(b.name))
}

// description is that of the service in package caller.
func (b *backend) description() *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: caller.Service, HandlerType: (*any)(nil)}
	for name, answer := range map[string]func(context.Context) error{caller.Who: nil, caller.Slow: slow, caller.Flaky: flaky} {
		d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: name, Handler: b.handler(answer)})
	}
	return d
}

func (b *backend) handler(check func(context.Context) error) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		if err := decode(new(emptypb.Empty)); err != nil {
			return nil, err
		}
		if b.broken.Load() {
			return nil, status.Error(codes.Unavailable, b.name+" is broken")
		}
		if check != nil {
			if err := check(ctx); err != nil {
				return nil, err
			}
		}
		return wrapperspb.String(b.name), nil
	}
}

func slow(ctx context.Context) error { return clienttest.Pause(ctx, slowness) }

// flaky fails unless the call is a retry.
func flaky(ctx context.Context) error {
	if len(metadata.ValueFromIncomingContext(ctx, "grpc-previous-rpc-attempts")) > 0 {
		return nil
	}
	return status.Error(codes.Unavailable, "this is no retry")
}
