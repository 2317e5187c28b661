package kube

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialer opens the connections of a cluster and closes all of them when the cluster ends. An HTTP client
// alone doesn't: it keeps a connection whose request was cancelled during the dial.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	// lastContact is when data last came from the API server, in nanoseconds since 1970; zero for never.
	lastContact atomic.Int64

	mu     sync.Mutex
	open   map[*dialed]struct{}
	closed bool
}

// dialed is an open connection of a dialer.
type dialed struct {
	net.Conn
	by *dialer
}

func newDialer(dial func(context.Context, string, string) (net.Conn, error)) *dialer {
	return &dialer{dial: dial, open: map[*dialed]struct{}{}}
}

// DialContext opens a connection.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &dialed{conn, d}
	d.open[c] = struct{}{}
	return c, nil
}

// lastContactTime returns when data last came from the API server, including answers to pings.
func (d *dialer) lastContactTime() time.Time { return time.Unix(0, d.lastContact.Load()) }

// Read implements net.Conn.
func (c *dialed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.by.lastContact.Store(time.Now().UnixNano())
	}
	return n, err
}

// Close implements net.Conn.
func (c *dialed) Close() error {
	c.by.mu.Lock()
	delete(c.by.open, c)
	c.by.mu.Unlock()
	return c.Conn.Close()
}

// close closes all connections. Later calls of DialContext fail.
func (d *dialer) close() {
	d.mu.Lock()
	d.closed = true
	open := d.open
	d.open = map[*dialed]struct{}{}
	d.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close()
	}
}
