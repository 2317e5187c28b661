package clientlimits

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/mem"
)

// Call knows which messages of a call gRPC has not sent. Without it, a client that ends its
// requests and doesn't read would have any number of calls: the handler of each has ended, but gRPC
// keeps the call with its messages. Make it with [Connections.Call].
type Call struct {
	connection *Connection
	// marker is the empty part at the end of each message.
	marker []byte

	mu     sync.Mutex
	unsent int
	// free is set if the handler has ended before the messages were sent.
	free func()
}

// markerMemory is shared by all markers. gRPC only reports that it has freed a buffer if its
// capacity is above the threshold of [mem.IsBelowBufferPoolingThreshold].
var markerMemory [minUnread]byte

// Call returns the call of a context.
func (cs *Connections) Call(ctx context.Context) *Call {
	return &Call{connection: cs.Of(ctx), marker: markerMemory[:0]}
}

// Connection returns the connection of the call; nil without TCP.
func (c *Call) Connection() *Connection { return c.connection }

// Message returns an encoded message, which the call sends once. It also counts as [Connection.Message] says.
func (c *Call) Message(m *mem.BufferSlice) *mem.BufferSlice {
	if c.connection == nil {
		return m
	}
	c.mu.Lock()
	c.unsent++
	c.mu.Unlock()
	parts := append(slices.Clip(*c.connection.Message(m)), mem.NewBuffer(&c.marker, c))
	return &parts
}

// Put implements [mem.BufferPool]. gRPC has sent or dropped a message.
func (c *Call) Put(*[]byte) {
	c.mu.Lock()
	c.unsent--
	sent := c.unsent == 0
	c.mu.Unlock()
	if sent {
		c.release()
	}
}

// Get implements [mem.BufferPool]. Nothing calls it.
func (*Call) Get(length int) *[]byte { return (*unread)(nil).Get(length) }

// End ends the call when its handler ends. It calls free once gRPC has sent or dropped all messages. If the
// context has ended, which is that of the call, gRPC has dropped them.
func (c *Call) End(ctx context.Context, free func()) {
	c.mu.Lock()
	c.free = free
	ended := c.unsent == 0 || ctx.Err() != nil || !c.connection.ended.keep(c)
	c.mu.Unlock()
	if ended {
		c.release()
	}
}

// release calls free once, if the handler has ended.
func (c *Call) release() {
	c.mu.Lock()
	free := c.free
	c.free = nil
	c.mu.Unlock()
	if free != nil {
		if c.connection != nil {
			c.connection.ended.forget(c)
		}
		free()
	}
}

// endedCalls are the calls of a connection whose handlers have ended, and whose messages gRPC keeps.
type endedCalls struct {
	mu     sync.Mutex
	calls  map[*Call]struct{}
	closed bool
}

// keep adds a call, unless the connection is closed, and returns whether it did.
func (e *endedCalls) keep(c *Call) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	if e.calls == nil {
		e.calls = map[*Call]struct{}{}
	}
	e.calls[c] = struct{}{}
	return true
}

func (e *endedCalls) forget(c *Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.calls, c)
}

func (e *endedCalls) close() {
	e.mu.Lock()
	e.closed = true
	all := e.calls
	e.calls = nil
	e.mu.Unlock()
	for c := range all {
		c.release()
	}
}
