package destination

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/testkit/logtest"
)

// limitedServer returns a server with these limits, which serves nothing.
func limitedServer(limits clientlimits.Limits, log io.Writer) *Server {
	config := testConfig()
	config.Limits = limits
	return NewServer(catalog.New(catalog.Options{}), config, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(log, nil)))
}

// A connection above the limit is reset, so that its client notices. After a connection is closed, another
// one is accepted.
func TestListenerLimitsConnections(t *testing.T) {
	var log logtest.Buffer
	server := limitedServer(clientlimits.Limits{MaxConnections: 2, MaxConnectionsPerHost: 1}, &log)
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
	// The limit per host doesn't apply to our own host.
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
			t.Error("a third connection is accepted")
		}
	}
	for range 3 {
		expectReset()
	}
	if got := testutil.ToFloat64(server.metrics.refused.WithLabelValues(string(clientlimits.RefusedConnection))); got != 3 {
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
	if got := testutil.ToFloat64(server.metrics.refused.WithLabelValues(string(clientlimits.RefusedConnection))); got != 4 {
		t.Errorf("then %v connections are counted, want 4", got)
	}
	_ = second.Close()
	_ = third.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	<-accepted
}
