package admin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/app/admin"
	"github.com/signpostd/signpost/testkit/heaptest"
	"github.com/signpostd/signpost/testkit/pipetest"
)

// hostile is a server in virtual time, with clients of any address.
type hostile struct {
	t *testing.T
	l *pipetest.Listener
}

// withServer calls test with a running server. /metrics has 1 MB.
func withServer(t *testing.T, test func(hostile)) {
	synctest.Test(t, func(t *testing.T) {
		l := pipetest.NewListener()
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "big", Help: strings.Repeat("x", 1<<20)}))
		s, err := admin.New(admin.Config{Listener: l, Gatherer: registry, PProf: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		test(hostile{t, l})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// dial returns a connection from an address.
func (h hostile) dial(ip string) net.Conn { return h.l.DialFrom(h.t, ip) }

// get returns the status of a request from an address; 0 without a response.
func (h hostile) get(ip, path string) int {
	conn := h.dial(ip)
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path); err != nil {
		return 0
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// A request whose body never ends, and one whose responses are never read, end with their connection.
func TestConnectionsOfHostileClientsEnd(t *testing.T) {
	for name, sent := range map[string]string{
		"body that never ends":   "POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\nx",
		"chunks that never end":  "POST /ping HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx",
		"pipelined and unread":   strings.Repeat("GET /nonesuch HTTP/1.1\r\nHost: x\r\n\r\n", 9),
		"unread error":           "GET /\x00 HTTP/1.1\r\n\r\n",
		"header that never ends": "GET /ping HTTP/1.1\r\nHost: x\r\nX: ",
		"nothing":                "",
		"preface of HTTP/2":      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(h hostile) {
				conn := h.dial("192.0.2.1")
				go func() { _, _ = io.WriteString(conn, sent) }()
				time.Sleep(time.Minute)
				synctest.Wait()
				// The pipe is closed at the other end if, without a reader there, a write ends at once.
				_ = conn.SetWriteDeadline(time.Now())
				if _, err := conn.Write([]byte("x")); err != io.ErrClosedPipe {
					t.Errorf("after a minute the connection is open: %v", err)
				}
			})
		})
	}
}

// Probes and scrapes of others pass while one host reads as many responses as it can, slowly.
func TestSlowScrapesOfOneHost(t *testing.T) {
	withServer(t, func(h hostile) {
		for range 128 {
			conn := h.dial("192.0.2.1")
			if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, path := range []string{"/ready", "/ping", "/healthz", "/metrics"} {
			if code := h.get("198.51.100.1", path); code != http.StatusOK {
				t.Errorf("%s: %d", path, code)
			}
		}
	})
}

// The kubelet's probes pass while pods in the host network of its node, or of more nodes than the limits are
// for, hold as many connections as they can.
func TestProbesOfTheHostOfHostileClients(t *testing.T) {
	for name, test := range map[string]struct{ hosts, each int }{
		"one":                         {1, 200},
		"as many as share all evenly": {8, 64},
		"one connection each":         {512, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(h hostile) {
				for range test.each {
					for host := range test.hosts {
						conn := h.dial(fmt.Sprintf("192.0.%d.%d", host/256, host%256))
						// The header of a request never ends.
						go func() { _, _ = io.WriteString(conn, "GET /ping HTTP/1.1\r\nX: ") }()
					}
				}
				synctest.Wait()
				for _, host := range []string{"192.0.0.0", "198.51.100.1"} {
					for _, path := range []string{"/ready", "/healthz"} {
						if code := h.get(host, path); code != http.StatusOK {
							t.Errorf("%s from %s: %d", path, host, code)
						}
					}
				}
			})
		})
	}
}

// A profile may take longer than any other response, and few are made at a time.
func TestProfiles(t *testing.T) {
	withServer(t, func(h hostile) {
		if code := h.get("192.0.2.1", "/debug/pprof/goroutine?seconds=60"); code != http.StatusOK {
			t.Errorf("a profile of a minute: %d", code)
		}
		for range 20 {
			if _, err := io.WriteString(h.dial("192.0.2.1"), "GET /debug/pprof/goroutine?seconds=60 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if code := h.get("192.0.2.1", "/debug/pprof/goroutine"); code != http.StatusServiceUnavailable {
			t.Errorf("one profile too many: %d", code)
		}
		if code := h.get("192.0.2.2", "/debug/pprof/goroutine"); code != http.StatusOK {
			t.Errorf("a profile of another host: %d", code)
		}
	})
}

// Clients that read and send slowly hold a limited part of the process, and only for a while.
func TestSlowClientsHoldLittle(t *testing.T) {
	slow := []string{"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"}
	withServer(t, func(h hostile) {
		goroutines, bytes := runtime.NumGoroutine(), int(heaptest.InUse())
		for host := range 8 {
			for i := range 200 {
				conn := h.dial(fmt.Sprintf("192.0.2.%d", host))
				_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
				_, _ = io.WriteString(conn, slow[i%2])
			}
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - goroutines; n > 2*512 {
			t.Errorf("%d goroutines for 1,600 slow clients", n)
		}
		if n := int(heaptest.InUse()) - bytes; n > 64<<20 {
			t.Errorf("%d kB for 1,600 slow clients", n>>10)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// The number is inexact by the ended goroutines that processors exchange, some dozens.
		if n := runtime.NumGoroutine() - goroutines; n > 100 {
			t.Errorf("%d goroutines a minute later", n)
		}
	})
}
