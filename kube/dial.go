package kube

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/connrotation"
)

// dialer opens the connections of a cluster and closes all of them when the cluster ends. An HTTP client
// alone doesn't: it keeps a connection whose request was cancelled during the dial.
type dialer struct {
	connections *connrotation.Dialer
	closed      atomic.Bool
	// opened is when the dialer was made. lastContact is when data last came from the API server, in
	// nanoseconds since opened; zero for never. This time is monotonic, so that changes of the system clock
	// don't affect it.
	opened      time.Time
	lastContact atomic.Int64
}

func newDialer(dial func(context.Context, string, string) (net.Conn, error)) *dialer {
	d := &dialer{opened: time.Now()}
	d.connections = connrotation.NewDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &dialed{conn, d}, nil
	})
	return d
}

// DialContext opens a connection.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.connections.DialContext(ctx, network, address)
	if err == nil && d.closed.Load() { // close may have missed it
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return conn, err
}

// close closes all connections. Later calls of DialContext fail.
func (d *dialer) close() {
	d.closed.Store(true)
	d.connections.CloseAll()
}

// lastContactTime returns when data last came from the API server, including responses to pings; before that,
// when the dialer was made.
func (d *dialer) lastContactTime() time.Time {
	return d.opened.Add(time.Duration(d.lastContact.Load()))
}

// dialed is a connection that records when data arrives.
type dialed struct {
	net.Conn
	by *dialer
}

// Read implements net.Conn.
func (c *dialed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.by.lastContact.Store(int64(time.Since(c.by.opened)))
	}
	return n, err
}
