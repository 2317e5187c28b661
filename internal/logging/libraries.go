package logging

import (
	"context"
	"errors"
	"flag"
	"fmt"
	standard "log"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// routed is the destination of library logs. klog and grpc-go must get their logger before they are used, so
// they get one permanent logger, which reads routed.
var routed atomic.Pointer[slog.Logger]

// setLoggers sets the loggers of klog and grpc-go.
var setLoggers = sync.OnceFunc(func() {
	klog.SetSlogLogger(slog.New(klogHandler{routedHandler{}}))
	grpclog.SetLoggerV2(grpcLogger{})
})

// RouteLibraries sends the logs of klog, grpc-go and the standard logger to log. The level is that of the
// logger, and sets the verbosity of klog. A later call replaces the destination. The first call must come
// before a library logs.
func RouteLibraries(log *slog.Logger, level slog.Level) error {
	if err := setKlogVerbosity(klogVerbosity(level)); err != nil {
		return err
	}
	routed.Store(log)
	setLoggers()
	standard.SetFlags(0)
	standard.SetPrefix("")
	standard.SetOutput(&standardWriter{log: log, limit: rate.NewLimiter(rate.Every(standardEvery), standardBurst)})
	return nil
}

// setKlogVerbosity sets a flag of klog, which has no function for it.
func setKlogVerbosity(v int) error {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("v", strconv.Itoa(v)); err != nil {
		return fmt.Errorf("set the verbosity of klog to %d: %w", v, err)
	}
	return nil
}

// routedHandler passes records to routed.
type routedHandler struct{}

// Enabled implements slog.Handler.
func (routedHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return routed.Load().Handler().Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (routedHandler) Handle(ctx context.Context, r slog.Record) error {
	return routed.Load().Handler().Handle(ctx, r)
}

// WithAttrs implements slog.Handler. The new handler keeps the present destination.
func (routedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return routed.Load().Handler().WithAttrs(attrs)
}

// WithGroup implements slog.Handler. The new handler keeps the present destination.
func (routedHandler) WithGroup(name string) slog.Handler {
	return routed.Load().Handler().WithGroup(name)
}

// klogHandler converts klog's verbosities to levels: V(0) to V(6) to debug, V(7) to trace. So at info,
// libraries log errors only. Higher verbosities are never enabled, because loggers that libraries take from a
// context ignore klog's verbosity, and would log bodies.
type klogHandler struct {
	next slog.Handler
}

// Enabled implements slog.Handler.
func (h klogHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return int(-l) <= mostKlog && h.next.Enabled(ctx, klogLevel(l))
}

// Handle implements slog.Handler.
func (h klogHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level = klogLevel(r.Level); isCanceled(r) {
		r.Level = slog.LevelDebug
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// isCanceled reports whether a record is about a request that we cancelled ourselves. client-go logs that as
// an unexpected error.
func isCanceled(r slog.Record) (canceled bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, isErr := a.Value.Any().(error)
		canceled = isErr && errors.Is(err, context.Canceled)
		return !canceled
	})
	return canceled
}

// WithAttrs implements slog.Handler.
func (h klogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return klogHandler{h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h klogHandler) WithGroup(name string) slog.Handler {
	return klogHandler{h.next.WithGroup(name)}
}

// klogLevel returns our level for a klog level, which is -v for verbosity v.
func klogLevel(l slog.Level) slog.Level {
	if l > slog.LevelInfo {
		return l
	}
	for _, known := range levels {
		if known.klog > 0 && int(-l) <= known.klog {
			return known.level
		}
	}
	return LevelTrace
}

// grpcLogger receives the logs of grpc-go. Warnings are logged at debug level, because they are about single
// connections, such as a client that has disconnected. (By default, grpc-go shows errors only.)
type grpcLogger struct{}

const grpcMessage = "gRPC library"

func (g grpcLogger) write(l slog.Level, args ...any) {
	if log := routed.Load(); log.Enabled(context.Background(), l) {
		log.Log(context.Background(), l, grpcMessage, "text", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	}
}

func (g grpcLogger) writef(l slog.Level, format string, args ...any) {
	if log := routed.Load(); log.Enabled(context.Background(), l) {
		log.Log(context.Background(), l, grpcMessage, "text", fmt.Sprintf(format, args...))
	}
}

// Info implements grpclog.LoggerV2, as do the methods below.
func (g grpcLogger) Info(args ...any)                    { g.write(LevelTrace, args...) }
func (g grpcLogger) Infoln(args ...any)                  { g.write(LevelTrace, args...) }
func (g grpcLogger) Infof(format string, args ...any)    { g.writef(LevelTrace, format, args...) }
func (g grpcLogger) Warning(args ...any)                 { g.write(slog.LevelDebug, args...) }
func (g grpcLogger) Warningln(args ...any)               { g.write(slog.LevelDebug, args...) }
func (g grpcLogger) Warningf(format string, args ...any) { g.writef(slog.LevelDebug, format, args...) }
func (g grpcLogger) Error(args ...any)                   { g.write(slog.LevelError, args...) }
func (g grpcLogger) Errorln(args ...any)                 { g.write(slog.LevelError, args...) }
func (g grpcLogger) Errorf(format string, args ...any)   { g.writef(slog.LevelError, format, args...) }

// Fatal only logs, because grpclog itself ends the process.
func (g grpcLogger) Fatal(args ...any)                 { g.write(LevelFatal, args...) }
func (g grpcLogger) Fatalln(args ...any)               { g.write(LevelFatal, args...) }
func (g grpcLogger) Fatalf(format string, args ...any) { g.writef(LevelFatal, format, args...) }

// V implements grpclog.LoggerV2: verbose lines are logged at trace level only.
func (g grpcLogger) V(int) bool { return routed.Load().Enabled(context.Background(), LevelTrace) }
