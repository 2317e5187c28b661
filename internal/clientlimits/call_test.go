package clientlimits

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/mem"
)

// A call counts until its handler has ended and its messages were sent or dropped.
func TestCallEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		messages, sent int // sent before the handler ends
		cancelled      bool
		open           bool // after the handler has ended
	}{
		"no message":          {},
		"all sent":            {messages: 2, sent: 2},
		"one unsent":          {messages: 2, sent: 1, open: true},
		"the client has left": {messages: 2, sent: 1, cancelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, closes := range []bool{false, true} {
				limits := DefaultLimits()
				connections := NewConnections(&limits, func(Refusal) {}, slog.New(slog.DiscardHandler))
				connection, _ := connections.admit(&fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.1:1"))})
				call := &Call{connection: connection, marker: markerMemory[:0]}
				var messages []*mem.BufferSlice
				for range tt.messages {
					messages = append(messages, call.Message(&mem.BufferSlice{mem.SliceBuffer("small")}))
				}
				for _, m := range messages[:tt.sent] {
					m.Free()
				}
				ctx, cancel := context.WithCancel(t.Context())
				if tt.cancelled {
					cancel()
				}
				var freed atomic.Int32
				call.End(ctx, func() { freed.Add(1) })
				cancel()
				if open := freed.Load() == 0; open != tt.open {
					t.Errorf("the call is open: %v", open)
				}
				if closes {
					_ = connection.Close()
				}
				for _, m := range messages[tt.sent:] {
					m.Free()
				}
				if n := freed.Load(); n != 1 || len(connection.ended.calls) != 0 {
					t.Errorf("the call was freed %d times, %d are kept", n, len(connection.ended.calls))
				}
			}
		})
	}
}

// A connection that is closed while a handler ends keeps no call.
func TestCallEndsWithItsConnection(t *testing.T) {
	limits := DefaultLimits()
	connections := NewConnections(&limits, func(Refusal) {}, slog.New(slog.DiscardHandler))
	for range 100 {
		connection, _ := connections.admit(&fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.1:1"))})
		call := &Call{connection: connection, marker: markerMemory[:0]}
		message := call.Message(&mem.BufferSlice{mem.SliceBuffer("small")})
		freed := make(chan struct{})
		go func() { _ = connection.Close() }()
		go call.End(context.Background(), func() { close(freed) })
		<-freed
		message.Free()
	}
}
