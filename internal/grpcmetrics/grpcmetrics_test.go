package grpcmetrics

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type fakeStream struct {
	grpc.ServerStream
	err error
}

func (s fakeStream) SendMsg(any) error { return s.err }
func (s fakeStream) RecvMsg(any) error { return s.err }

func TestCalls(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	info := &grpc.StreamServerInfo{FullMethod: "/pkg.Service/Get", IsServerStream: true}
	call := func(stream fakeStream, result error) {
		err := m.StreamInterceptor(nil, stream, info, func(_ any, s grpc.ServerStream) error {
			_ = s.RecvMsg(nil)
			_ = s.SendMsg(nil)
			_ = s.SendMsg(nil)
			return result
		})
		if !errors.Is(err, result) {
			t.Errorf("the interceptor returned %v, want %v", err, result)
		}
	}
	call(fakeStream{}, nil)
	call(fakeStream{err: errors.New("gone")}, status.Error(codes.NotFound, "no"))
	want := `
# HELP grpc_server_handled_total RPCs completed on the server, by code.
# TYPE grpc_server_handled_total counter
grpc_server_handled_total{grpc_code="NotFound",grpc_method="Get",grpc_service="pkg.Service",grpc_type="server_stream"} 1
grpc_server_handled_total{grpc_code="OK",grpc_method="Get",grpc_service="pkg.Service",grpc_type="server_stream"} 1
# HELP grpc_server_msg_received_total Messages received on the server.
# TYPE grpc_server_msg_received_total counter
grpc_server_msg_received_total{grpc_method="Get",grpc_service="pkg.Service",grpc_type="server_stream"} 1
# HELP grpc_server_msg_sent_total Messages sent by the server.
# TYPE grpc_server_msg_sent_total counter
grpc_server_msg_sent_total{grpc_method="Get",grpc_service="pkg.Service",grpc_type="server_stream"} 2
# HELP grpc_server_started_total RPCs started on the server.
# TYPE grpc_server_started_total counter
grpc_server_started_total{grpc_method="Get",grpc_service="pkg.Service",grpc_type="server_stream"} 2
`
	names := []string{"grpc_server_handled_total", "grpc_server_msg_received_total", "grpc_server_msg_sent_total", "grpc_server_started_total"}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m.seconds, "grpc_server_handling_seconds"); n != 1 {
		t.Errorf("%d series of handling times, want 1", n)
	}
}

func TestInit(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	m.Init(map[string]grpc.ServiceInfo{"pkg.Service": {Methods: []grpc.MethodInfo{
		{Name: "Unary"}, {Name: "Client", IsClientStream: true}, {Name: "Server", IsServerStream: true}, {Name: "Bidi", IsClientStream: true, IsServerStream: true},
	}}})
	if n := testutil.CollectAndCount(m.started); n != 4 {
		t.Errorf("%d series of started calls, want 4", n)
	}
	if n := testutil.CollectAndCount(m.handled); n != 4*17 {
		t.Errorf("%d series of handled calls, want one for each method and code", n)
	}
}
