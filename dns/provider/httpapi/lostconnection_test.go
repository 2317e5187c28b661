package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/certtest"
	"github.com/signpostd/signpost/testkit/pipetest"
)

// If a device between a client and a server that speaks HTTP/2 drops the state of a connection, its packets
// are lost without an answer. The client notices that, and opens another connection.
func TestLostConnection(t *testing.T) {
	authority, err := certtest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.Issue("spiffe://test/api", netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := &lossy{Listener: pipetest.NewListener()}
		server := http.Server{
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
			Handler:   http.NotFoundHandler(),
		}
		served := make(chan error)
		go func() { served <- server.ServeTLS(l, "", "") }()
		ctx, cancel := context.WithCancel(t.Context())
		in := provider.Input{Wrap: func(next http.RoundTripper) http.RoundTripper {
			transport := next.(*http.Transport)
			transport.DialContext, transport.TLSClientConfig.RootCAs = l.dial, authority.Pool()
			return transport
		}}
		c, err := NewClient(ctx, in, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Timeout = time.Minute
		get := func() error {
			req, err := NewRequest(ctx, http.MethodGet, &url.URL{Scheme: "https", Host: "192.0.2.1"}, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			return Do(c, req, func(resp *http.Response) error {
				if resp.ProtoMajor != 2 {
					t.Error(resp.Proto)
				}
				return nil
			})
		}
		if err := get(); err != nil {
			t.Fatal(err)
		}
		l.dropped.Store(true)
		begun := time.Now()
		for get() != nil && time.Since(begun) < 20*time.Minute {
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("requests failed for %v", took)
		}
		cancel()
		c.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// lossy makes connections to a listener. After dropped is set, what the first one sends is lost.
type lossy struct {
	*pipetest.Listener
	dropped atomic.Bool
	dials   atomic.Int64
}

func (l *lossy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.Dial(ctx, network, address)
	return &lossyConn{Conn: conn, from: l, first: l.dials.Add(1) == 1}, err
}

// lossyConn is the client's end of a connection.
type lossyConn struct {
	net.Conn
	from  *lossy
	first bool
}

// Write implements [net.Conn].
func (c *lossyConn) Write(b []byte) (int, error) {
	if c.first && c.from.dropped.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}
