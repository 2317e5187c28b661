// Package grpcrecover ends only the call that panics, and not the gRPC server with all other calls. Package
// process makes one [Recoverer] for all of its servers, with the interceptors inside those that count calls.
//
// A call that panics ends with the code Internal. The metric grpc_server_panics_total counts it, and the
// stack is logged, rate-limited per location in the code. A panic is still a bug: alert on the metric. Tests
// set a [Config.Panicked] that fails, so that they notice it.
//
// # Concurrency
//
// The interceptors may be called from any goroutine. They recover panics of the call's goroutine only; a
// panic in another goroutine still ends the process.
package grpcrecover

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/panics"
)

// errPanic is the status of a call that panicked. It gives no cause, which may contain other clients' data.
var errPanic = status.Error(codes.Internal, "internal error of the server; its log has the details")

// Config configures a [Recoverer].
type Config struct {
	Registerer prometheus.Registerer
	Log        *slog.Logger
	// Panicked, if not nil, is called with the value of each panic and its stack.
	Panicked func(value any, stack []byte)
}

// Recoverer ends calls that panic. Make one with [New].
type Recoverer struct {
	config Config
	panics *prometheus.CounterVec
	stacks panics.Stacks
}

// New returns a Recoverer and registers its metric.
func New(c Config) *Recoverer {
	r := &Recoverer{
		config: c,
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_panics_total",
			Help: "RPCs that panicked because of a bug, and ended with Internal. The log has the stack.",
		}, []string{"grpc_service", "grpc_method"}),
	}
	c.Registerer.MustRegister(r.panics)
	return r
}

// Init creates the series of all methods of the registered services, so that they exist before the first
// panic.
func (r *Recoverer) Init(services map[string]grpc.ServiceInfo) {
	for service, info := range services {
		for _, method := range info.Methods {
			r.panics.WithLabelValues(service, method.Name)
		}
	}
}

// StreamInterceptor ends a stream that panics.
func (r *Recoverer) StreamInterceptor(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.recovered(info.FullMethod, v)
		}
	}()
	return handler(srv, stream)
}

// UnaryInterceptor ends a unary call that panics.
func (r *Recoverer) UnaryInterceptor(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	defer func() {
		if v := recover(); v != nil {
			response, err = nil, r.recovered(info.FullMethod, v)
		}
	}()
	return handler(ctx, request)
}

// recovered reports a panic. It must be called in the deferred function, while the stack of the panic exists.
func (r *Recoverer) recovered(method string, value any) error {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	r.panics.WithLabelValues(service, name).Inc()
	p := panics.Of(value)
	if r.stacks.Due(p.At) {
		r.config.Log.Error("A call panicked; please report this", "method", method, "panic", fmt.Sprint(p.Value), "at", p.At, "stack", string(p.Stack))
	}
	if r.config.Panicked != nil {
		r.config.Panicked(p.Value, p.Stack)
	}
	return errPanic
}
