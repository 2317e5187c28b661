package kube

import (
	"context"
	"net"
	"sync"
)

// dialer opens the connections of a cluster and closes all of them when the cluster ends. An
// HTTP client doesn't: it keeps a connection whose request was cancelled during the dial.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

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
