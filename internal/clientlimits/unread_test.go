package clientlimits

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
)

// parts returns a message with parts of this many bytes.
func parts(sizes ...int) mem.BufferSlice {
	var m mem.BufferSlice
	for _, n := range sizes {
		m = append(m, mem.SliceBuffer(make([]byte, n)))
	}
	return m
}

// TestLimitUnread shows which connections are closed: those of a client above its limit that hold
// most, and of all clients above the total. Memory that connections share counts once, and what was
// just sent not at all.
func TestLimitUnread(t *testing.T) {
	const limit = 10_000
	shared := parts(8000)
	for name, tt := range map[string]struct {
		// unread has the messages that each connection has not read, by its address.
		unread map[string][]mem.BufferSlice
		// freed has the connections that read everything.
		freed   string
		blocked map[string]Blocked
		age     time.Duration
		closed  map[string]Refusal
	}{
		"below the limit":            {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(9000)}}, age: time.Minute},
		"above the limit":            {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(9000), parts(9000)}}, age: time.Minute, closed: map[string]Refusal{"10.0.0.1:1": RefusedUnreadOfClient}},
		"just sent":                  {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(9000), parts(9000)}}, age: time.Second},
		"read":                       {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(9000), parts(9000)}}, age: time.Minute, freed: "10.0.0.1:1"},
		"small parts":                {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(9000, 1000, 1000)}}, age: time.Minute},
		"shared by calls":            {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {shared, shared}}, age: time.Minute},
		"shared by connections":      {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {shared}, "10.0.0.1:2": {shared}}, age: time.Minute},
		"the greater of two":         {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(4000)}, "10.0.0.1:2": {parts(8000)}}, age: time.Minute, closed: map[string]Refusal{"10.0.0.1:2": RefusedUnreadOfClient}},
		"two hosts":                  {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": {parts(8000)}, "10.0.0.2:1": {parts(8000)}}, age: time.Minute},
		"our own host":               {unread: map[string][]mem.BufferSlice{"10.0.0.9:1": {parts(8000)}, "10.0.0.9:2": {parts(8000)}}, age: time.Minute},
		"a blocked call":             {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": nil}, blocked: map[string]Blocked{"10.0.0.1:1": {For: time.Minute}}, closed: map[string]Refusal{"10.0.0.1:1": RefusedUnreadOfClient}},
		"a call that begins to send": {unread: map[string][]mem.BufferSlice{"10.0.0.1:1": nil}, blocked: map[string]Blocked{"10.0.0.1:1": {For: time.Second}}},
		"all clients": {unread: map[string][]mem.BufferSlice{
			"10.0.1.1:1": {parts(9001)}, "10.0.1.2:1": {parts(9000)}, "10.0.1.3:1": {parts(9000)}, "10.0.1.4:1": {parts(9000)}, "10.0.1.5:1": {parts(9000)}, "10.0.1.6:1": {parts(9000)},
			"10.0.1.7:1": {parts(9000)}, "10.0.1.8:1": {parts(9000)}, "10.0.2.1:1": {parts(9000)}, "10.0.2.2:1": {parts(9000)}, "10.0.2.3:1": {parts(9900)}, "10.0.2.4:1": {shared}, "10.0.2.5:1": {shared},
		}, age: time.Minute, closed: map[string]Refusal{"10.0.2.3:1": RefusedUnread}},
	} {
		t.Run(name, func(t *testing.T) {
			limits := Limits{MaxResponseBytesPerClient: limit}.WithDefaults()
			var why Refusal
			all := NewConnections(&limits, func(r Refusal) { why = r }, slog.New(slog.DiscardHandler))
			open := map[string]*Connection{}
			var blocked []Blocked
			for from, messages := range tt.unread {
				c, _ := all.admit(&fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))})
				open[from] = c
				for _, m := range messages {
					sent := c.Message(&m)
					if from == tt.freed {
						sent.Free()
					}
				}
				if b, ok := tt.blocked[from]; ok {
					b.Connection = c
					blocked = append(blocked, b)
				}
			}
			all.limitUnread(time.Now().Add(tt.age), blocked)
			for from, c := range open {
				_, closed := tt.closed[from]
				if is := all.tcp[addresses{netip.MustParseAddrPort(from), netip.MustParseAddrPort("10.0.0.9:8086")}] != c; is != closed {
					t.Errorf("%s: closed %v, want %v", from, is, closed)
				}
				if closed && why != tt.closed[from] {
					t.Errorf("%s is counted as %q", from, why)
				}
			}
		})
	}
}
