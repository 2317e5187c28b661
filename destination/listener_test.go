package destination

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/catalog"
)

// limitedServer returns a server with these limits, which serves nothing.
func limitedServer(limits Limits, log io.Writer) *Server {
	config := testConfig()
	config.Limits = limits
	return NewServer(catalog.New(catalog.Options{}), config, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(log, nil)))
}

// One connection more than there may be is reset, and so that its client notices. A place that
// becomes free is given away again.
func TestListenerLimitsConnections(t *testing.T) {
	var log lockedBuffer
	server := limitedServer(Limits{MaxConnections: 2, MaxConnectionsPerHost: 1}, &log)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := server.Listener(inner)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	connect := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	// The limit for a host is not for our own.
	connect()
	first := <-accepted
	connect()
	second := <-accepted
	// A client may notice while it connects, or when it reads.
	expectReset := func() {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a third connection is kept")
		}
	}
	for range 3 {
		expectReset()
	}
	if got := testutil.ToFloat64(server.metrics.refused.WithLabelValues(string(refusedConnection))); got != 3 {
		t.Errorf("%v connections are counted as refused, want 3", got)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "limit=connections from=127.0.0.1:") {
		t.Errorf("the log: %s", text)
	}
	_ = first.Close()
	_ = first.Close() // as grpc-go may do
	connect()
	third := <-accepted
	expectReset()
	if got := testutil.ToFloat64(server.metrics.refused.WithLabelValues(string(refusedConnection))); got != 4 {
		t.Errorf("then %v connections are counted, want 4", got)
	}
	_ = second.Close()
	_ = third.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	<-accepted
	if n := l.(*limitedListener).total; n != 0 {
		t.Errorf("%d places are taken by nobody", n)
	}
}

// scripted is a listener whose connections come from these addresses.
type scripted struct {
	net.Listener
	from []string
}

// Accept implements net.Listener.
func (s *scripted) Accept() (net.Conn, error) {
	if len(s.from) == 0 {
		return nil, errors.New("no more")
	}
	c := &fakeConn{from: net.TCPAddrFromAddrPort(addrPort(s.from[0]))}
	s.from = s.from[1:]
	return c, nil
}

// fakeConn is a connection of a host to 10.0.0.9.
type fakeConn struct {
	net.Conn
	from net.Addr
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(addrPort("10.0.0.9:8086")) }
func (c *fakeConn) Close() error         { return nil }

// One host can't take the places of others.
func TestListenerLimitsHosts(t *testing.T) {
	server := limitedServer(Limits{MaxConnectionsPerHost: 2}, io.Discard)
	l := server.Listener(&scripted{from: []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4", "10.0.0.2:1", "10.0.0.9:1", "10.0.0.9:2", "10.0.0.9:3"}})
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
	if got := testutil.ToFloat64(server.metrics.refused.WithLabelValues(string(refusedConnectionOfHost))); got != 2 {
		t.Errorf("%v connections are counted as refused, want 2", got)
	}
	for _, c := range open {
		_ = c.Close()
	}
	if all := l.(*limitedListener); all.total != 0 || len(all.hosts) != 0 {
		t.Errorf("%d places are taken, by %v", all.total, all.hosts)
	}
}
