package webhookserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/webhookserver"
	"github.com/signpostd/signpost/testkit/pipetest"
)

// slowBackend needs a while for each listing.
type slowBackend struct {
	*backend
	takes time.Duration
}

func (b slowBackend) Records(ctx context.Context, z dns.Zone) ([]*dns.RecordSet, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(b.takes):
		return b.backend.Records(ctx, z)
	}
}

// served calls test with a server of a slow provider, in virtual time.
func served(t *testing.T, takes time.Duration, test func(*testing.T, *pipetest.Listener)) {
	synctest.Test(t, func(t *testing.T) {
		l := pipetest.NewListener()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- webhookserver.New(defaults(slowBackend{one("example.test"), takes})).Run(ctx, l) }()
		test(t, l)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func sendTo(t *testing.T, l *pipetest.Listener, text string) net.Conn {
	conn := l.DialFrom(t, "127.0.0.1")
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() { _, _ = io.WriteString(conn, text) }()
	return conn
}

// statusOf returns the status of a response; 0 if the connection was closed without one.
func statusOf(conn net.Conn) int {
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_ = r.Body.Close()
	return r.StatusCode
}

const listing = "GET /records HTTP/1.1\r\nHost: x\r\n\r\n"

// The time to read a message doesn't limit the provider.
func TestListingTakesLongerThanReading(t *testing.T) {
	served(t, 7*time.Second, func(t *testing.T, l *pipetest.Listener) {
		if code := statusOf(sendTo(t, l, listing)); code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	})
}

func TestHostileClients(t *testing.T) {
	served(t, 0, func(t *testing.T, l *pipetest.Listener) {
		header := fmt.Sprintf("GET /records HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("y", 64<<10))
		if code := statusOf(sendTo(t, l, header)); code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a large header: status %d", code)
		}
		begun := time.Now()
		if code := statusOf(sendTo(t, l, "GET / HTTP/1.1\r\n")); code != 0 || time.Since(begun) > 10*time.Second {
			t.Errorf("a header that never ends: status %d after %v", code, time.Since(begun))
		}
		begun = time.Now()
		body := sendTo(t, l, "POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Errorf("a body that never ends: %v", err)
		}
		if took := time.Since(begun); took > 6*time.Second {
			t.Errorf("a body that never ends: %v", took)
		}
		for range 1000 {
			sendTo(t, l, "")
		}
		synctest.Wait()
		if code := statusOf(sendTo(t, l, listing)); code != http.StatusOK {
			t.Errorf("a request of a host that has opened as many connections as it could: status %d", code)
		}
	})
}

// Requests wait for each other, but only few of them.
func TestWaitingRequestsAreLimited(t *testing.T) {
	served(t, time.Second, func(t *testing.T, l *pipetest.Listener) {
		codes := make(chan int)
		for range 100 {
			conn := sendTo(t, l, listing)
			go func() { codes <- statusOf(conn) }()
		}
		busy := 0
		for range 100 {
			if <-codes == http.StatusServiceUnavailable {
				busy++
			}
		}
		if busy != 84 {
			t.Errorf("%d of 100 requests at a time were refused, want 84", busy)
		}
	})
}
