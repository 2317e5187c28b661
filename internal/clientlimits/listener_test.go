package clientlimits

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
)

// scripted is a listener with one connection from each of these addresses.
type scripted struct {
	net.Listener
	from []string
}

// Accept implements net.Listener.
func (s *scripted) Accept() (net.Conn, error) {
	if len(s.from) == 0 {
		return nil, errors.New("no more")
	}
	c := &fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s.from[0]))}
	s.from = s.from[1:]
	return c, nil
}

// Addr implements net.Listener.
func (s *scripted) Addr() net.Addr { return &net.TCPAddr{} }

// fakeConn is a connection to 10.0.0.9.
type fakeConn struct {
	net.Conn
	from net.Addr
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.9:8086"))
}
func (c *fakeConn) Close() error { return nil }

// A host above its limit is refused, and others can still connect.
func TestListenerLimitsHosts(t *testing.T) {
	limits := Limits{MaxConnectionsPerHost: 2}.WithDefaults()
	refused := map[Refusal]int{}
	all := NewConnections(&limits, func(why Refusal) { refused[why]++ }, slog.New(slog.DiscardHandler))
	l := all.Listener(&scripted{from: []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4", "10.0.0.2:1", "10.0.0.9:1", "10.0.0.9:2", "10.0.0.9:3"}})
	var got []string
	var open []net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		got, open = append(got, c.RemoteAddr().String()), append(open, c)
	}
	if want := "10.0.0.1:1 10.0.0.1:2 10.0.0.2:1 10.0.0.9:1 10.0.0.9:2 10.0.0.9:3"; strings.Join(got, " ") != want {
		t.Errorf("accepted %s, want %s", got, want)
	}
	if got := refused[RefusedConnectionOfHost]; got != 2 {
		t.Errorf("%d connections are counted as refused, want 2", got)
	}
	for _, c := range open {
		_ = c.Close()
	}
	if all.total != 0 || len(all.hosts) != 0 || len(all.tcp) != 0 {
		t.Errorf("%d connections are still counted, by host %v, by addresses %v", all.total, all.hosts, all.tcp)
	}
}

// A connection above the limit is reset, so that its client notices. After a connection is closed, another
// one is accepted.
func TestListenerLimitsConnections(t *testing.T) {
	limits := Limits{MaxConnections: 2, MaxConnectionsPerHost: 1}.WithDefaults() // our own host has no limit per host
	refused := map[Refusal]int{}
	var log bytes.Buffer
	all := NewConnections(&limits, func(why Refusal) { refused[why]++ }, slog.New(slog.NewTextHandler(&log, nil)))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := all.Listener(inner)
	defer l.Close()
	accepted := func(c net.Conn, err error) net.Conn {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	connect := func() net.Conn { return accepted(net.Dial("tcp", inner.Addr().String())) }
	connect()
	first := accepted(l.Accept())
	connect()
	second := accepted(l.Accept())
	clients := []net.Conn{connect(), connect()}
	next := make(chan net.Conn)
	go func() {
		c, _ := l.Accept() // refuses two connections and waits for another one
		next <- c
	}()
	for _, c := range clients {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client of a refused connection notices %v, want a reset", err)
		}
	}
	_ = first.Close()
	_ = first.Close() // as grpc-go may do
	connect()
	third := <-next
	if got := refused[RefusedConnection]; got != 2 || all.total != 2 {
		t.Errorf("%d connections are counted as refused and %d as open, want 2 each", got, all.total)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "limit=connections client=127.0.0.1:") {
		t.Errorf("the log: %s", text)
	}
	_ = second.Close()
	_ = third.Close()
	if all.total != 0 {
		t.Errorf("%d connections are still counted", all.total)
	}
}
