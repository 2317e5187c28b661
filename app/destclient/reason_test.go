package destclient

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// admin returns the address of an admin server.
func admin(t *testing.T, code int, ready string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pong\n") })
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, ready)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestNotReady(t *testing.T) {
	for name, test := range map[string]struct {
		addr, want string
	}{
		"waits":   {admin(t, 500, "not ready\npod: waiting: list pods is forbidden\nservice: waiting\n"), "pod: waiting: list pods is forbidden; service: waiting"},
		"much":    {admin(t, 500, "not ready\n"+strings.Repeat("a\n", 100)), "a; a; a; a; …"},
		"ready":   {admin(t, 200, "ok\n"), ""},
		"another": {admin(t, 500, "Internal Server Error"), ""},
		"nobody":  {"127.0.0.1:1", ""},
		"no name": {"a b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NotReady(t.Context(), test.addr); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// B4: no response of a server that waits for rights is not a wrong address.
func TestServerThatWaits(t *testing.T) {
	const want = "the server is there and not ready: pod: waiting: its admin server has the rest under /ready"
	for name, s := range map[string]script{"silent": {holds: true}, "unavailable": {end: status.Error(codes.Unavailable, "not synced")}} {
		t.Run(name, func(t *testing.T) {
			addr := admin(t, 500, "not ready\npod: waiting\n")
			q := question{Options: Options{Timeout: 20 * time.Millisecond, Waiting: func(ctx context.Context) string { return NotReady(ctx, addr) }}, quiet: time.Minute, out: io.Discard}
			if _, err := q.ask(t.Context(), t, (&scripted{scripts: []script{s}}).serve(t)); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v; want %s", err, want)
			}
		})
	}
}

// B5: an admin server is told from a Destination server.
func TestMixedUpPorts(t *testing.T) {
	o := Options{Authority: "web.shop.svc.cluster.local", Addr: admin(t, 200, "ok\n"), Timeout: 10 * time.Second}
	err := Get(t.Context(), o, io.Discard, io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), "this is the port of an admin server: the Destination API has another one, 8086 unless set otherwise") {
		t.Errorf("got %v", err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	o.Addr = other.Listener.Addr().String()
	if err := Get(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.HasSuffix(err.Error(), "check that a Destination server listens there") {
		t.Errorf("got %v", err)
	}
}
