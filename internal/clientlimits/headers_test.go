package clientlimits

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// An open call keeps the headers that are needed, and none of the others: 20,000 calls of one host
// with 16 kB each took 280 MB.
func TestKeepHeaders(t *testing.T) {
	var refusals []Refusal
	kept := make(chan metadata.MD, 1)
	server := grpc.NewServer(KeepHeaders(func(r Refusal, client ClientID) {
		refusals = append(refusals, r)
		if !client.Addr().IsLoopback() {
			t.Errorf("refused %v, want a client at the loopback interface", client)
		}
	}, "authorization"),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			headers, _ := metadata.FromIncomingContext(stream.Context())
			kept <- headers
			return nil
		}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	call := func(more int) error {
		headers := []string{"authorization", "Bearer t", "x", strings.Repeat("y", 8<<10)}
		for i := range more {
			headers = append(headers, fmt.Sprint("h", i), "")
		}
		stream, err := conn.NewStream(metadata.AppendToOutgoingContext(t.Context(), headers...), &grpc.StreamDesc{ServerStreams: true}, "/s/M")
		if err != nil {
			return err
		}
		if err := stream.RecvMsg(&emptypb.Empty{}); !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	}
	if err := call(30); err != nil {
		t.Fatal(err)
	}
	if headers := <-kept; len(headers) != 1 || !slices.Equal(headers.Get("authorization"), []string{"Bearer t"}) {
		t.Errorf("the call keeps the headers %v", headers)
	}
	if err := call(100); status.Code(err) != codes.ResourceExhausted || !slices.Equal(refusals, []Refusal{RefusedHeaders}) {
		t.Errorf("a call with many headers ends with %v, refusals %v", err, refusals)
	}
}
