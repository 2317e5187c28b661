package network

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// A connection to the API server without data for the time quiet gets a ping, and is closed if there is
	// no response within pingTimeout. A replica can't notice that itself, because the API responds to its
	// pings.
	quiet       = 5 * time.Second
	pingTimeout = 5 * time.Second

	handshakeTimeout = 5 * time.Second
)

// destination is how an API connects to the API server.
type destination struct {
	config *rest.Config // with the rights of an administrator
	url    *url.URL
	tls    *tls.Config
	dial   string // the address to connect to: that of a Link
}

// downstream is a connection of a replica, with its own connections to the API server. So a fault hits the
// same requests as without the proxy: connections aren't shared, and they end together.
type downstream struct {
	*net.TCPConn
	up *upstream
}

// Close implements [net.Conn].
func (d *downstream) Close() error {
	d.up.close()
	return d.TCPConn.Close()
}

// reset resets the connection.
func (d *downstream) reset() {
	_ = d.SetLinger(0)
	_ = d.Close()
}

// listener accepts downstream connections.
type listener struct {
	net.Listener
	to destination
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	up, err := newUpstream(l.to)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &downstream{conn.(*net.TCPConn), up}, nil
}

// upstream has the connections to the API server for one connection of a replica. With HTTP/2 there is only
// one.
type upstream struct {
	http.RoundTripper // uses transport, and adds the credentials

	transport *http.Transport
	address   string

	mu     sync.Mutex
	conns  map[*upstreamConn]struct{}
	closed bool
}

type upstreamConn struct {
	net.Conn
	up *upstream
}

func newUpstream(to destination) (*upstream, error) {
	u := &upstream{address: to.dial, conns: map[*upstreamConn]struct{}{}}
	u.transport = &http.Transport{
		DialContext:         u.dial,
		TLSClientConfig:     to.tls.Clone(),
		TLSHandshakeTimeout: handshakeTimeout,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // or the response would be changed
		HTTP2:               &http.HTTP2Config{SendPingTimeout: quiet, PingTimeout: pingTimeout},
	}
	var err error
	u.RoundTripper, err = rest.HTTPWrappersForConfig(to.config, u.transport)
	return u, err
}

func (u *upstream) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := dial(ctx, u.address)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &upstreamConn{conn, u}
	u.conns[c] = struct{}{}
	return c, nil
}

// Close implements [net.Conn].
func (c *upstreamConn) Close() error {
	c.up.mu.Lock()
	delete(c.up.conns, c)
	c.up.mu.Unlock()
	return c.Conn.Close()
}

// close ends all requests and connections.
func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.conns {
		_ = c.Conn.Close()
	}
	clear(u.conns)
}
