// Package pipetest has a listener in memory whose clients have any IP address.
//
// Tests of limits per host use it in virtual time (testing/synctest), because the connections are those of
// [net.Pipe]: they have no buffers, so a client that doesn't read blocks its server at once.
//
//	l := pipetest.NewListener()
//	go serve(l)
//	conn := l.DialFrom(t, "192.0.2.1")
package pipetest

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Listener is a listener in memory. [NewListener] creates it.
type Listener struct {
	conns chan net.Conn
	gone  chan struct{}
	close func()
}

// NewListener returns a listener without connections.
func NewListener() *Listener {
	l := &Listener{conns: make(chan net.Conn), gone: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.gone) })
	return l
}

// DialFrom connects from an IP address. The connection is closed when the test ends.
func (l *Listener) DialFrom(t testing.TB, ip string) net.Conn {
	t.Helper()
	from, err := netip.ParseAddr(ip)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.dial(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	return ours
}

// Dial connects from 192.0.2.1, whatever the address is. It is the dialer of a client, such as that of
// [net/http.Transport]; the client closes the connection.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return l.dial(ctx, netip.AddrFrom4([4]byte{192, 0, 2, 1}))
}

func (l *Listener) dial(ctx context.Context, from netip.Addr) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- conn{theirs, net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 1))}:
		return ours, nil
	case <-l.gone:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error { l.close(); return nil }

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{} }

// conn is a connection with the address of its client.
type conn struct {
	net.Conn
	from net.Addr
}

func (c conn) RemoteAddr() net.Addr { return c.from }
