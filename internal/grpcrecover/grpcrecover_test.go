package grpcrecover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/panics"
)

// crash fails in one of two places.
func crash(how string) error {
	switch how {
	case "panic":
		panic("on purpose")
	case "nil pointer":
		var m *struct{ n int }
		m.n++
	case "error":
		return errors.New("as usual")
	}
	return nil
}

// A call that panics ends with Internal, is counted, and is passed to Panicked. Its stack is logged once per
// location, and again after a while.
func TestRecoverer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var reported []string
		registry := prometheus.NewRegistry()
		r := New(Config{
			Registerer: registry, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Panicked: func(v any, stack []byte) {
				if !strings.Contains(string(stack), "grpcrecover.crash") {
					t.Errorf("the stack lacks the location of the panic:\n%s", stack)
				}
				reported = append(reported, fmt.Sprint(v))
			},
		})
		r.Init(map[string]grpc.ServiceInfo{"pkg.Service": {Methods: []grpc.MethodInfo{{Name: "Get"}, {Name: "Put"}}}})
		for _, tc := range []struct {
			how  string
			want codes.Code
			logs int
		}{{"", codes.OK, 0}, {"error", codes.Unknown, 0}, {"panic", codes.Internal, 1}, {"nil pointer", codes.Internal, 1}, {"panic", codes.Internal, 0}} {
			log.Reset()
			stream := r.StreamInterceptor(nil, nil, &grpc.StreamServerInfo{FullMethod: "/pkg.Service/Get"}, func(any, grpc.ServerStream) error { return crash(tc.how) })
			_, unary := r.UnaryInterceptor(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/pkg.Service/Put"}, func(context.Context, any) (any, error) { return nil, crash(tc.how) })
			if status.Code(stream) != tc.want || status.Code(unary) != tc.want {
				t.Errorf("%q: %v and %v, want %s", tc.how, stream, unary, tc.want)
			}
			if strings.Contains(fmt.Sprint(stream, unary), "purpose") {
				t.Errorf("%q: the client got %v and %v", tc.how, stream, unary)
			}
			if n := strings.Count(log.String(), " at=github.com/signpostd/signpost/internal/grpcrecover.crash:"); n != tc.logs {
				t.Errorf("%q: %d stacks are logged, want %d:\n%s", tc.how, n, tc.logs, log.String())
			}
		}
		if len(reported) != 6 {
			t.Errorf("reported %q", reported)
		}
		want := `
# HELP grpc_server_panics_total RPCs that panicked because of a bug, and ended with Internal. The log has the stack.
# TYPE grpc_server_panics_total counter
grpc_server_panics_total{grpc_method="Get",grpc_service="pkg.Service"} 3
grpc_server_panics_total{grpc_method="Put",grpc_service="pkg.Service"} 3
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
		log.Reset()
		time.Sleep(panics.LogInterval)
		_ = r.StreamInterceptor(nil, nil, &grpc.StreamServerInfo{FullMethod: "/pkg.Service/Get"}, func(any, grpc.ServerStream) error { return crash("panic") })
		if log.Len() == 0 {
			t.Error("a repeated panic is never logged again")
		}
	})
}
