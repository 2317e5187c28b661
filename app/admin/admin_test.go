package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/app/admin"
	"github.com/signpostd/signpost/testkit/pipetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHandler(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "answer"}, func() float64 { return 42 }))
	notReady := func() (bool, []string) { return false, []string{"waiting for pods", "waiting for\nservices"} }
	ready := func() (bool, []string) { return true, nil }
	without := func() (bool, []string) { return true, []string{"without servers.policy.linkerd.io: not installed"} }
	tests := map[string]struct {
		path  string
		ready func() (bool, []string)
		pprof bool
		code  int
		body  string // the whole body, or with a leading … a part of it
	}{
		"ping":                 {path: "/ping", code: 200, body: "pong\n"},
		"ping while not ready": {path: "/ping", ready: notReady, code: 200, body: "pong\n"},
		"ready":                {path: "/ready", ready: ready, code: 200, body: "ok\n"},
		"ready, with a remark": {path: "/ready", ready: without, code: 200, body: "ok\nwithout servers.policy.linkerd.io: not installed\n"},
		"not ready":            {path: "/ready", ready: notReady, code: 500, body: "not ready\nwaiting for pods\nwaiting for services\n"},
		"nothing to wait for":  {path: "/ready", code: 200, body: "ok\n"},
		"metrics":              {path: "/metrics", code: 200, body: "…answer 42\n"},
		"its own metrics":      {path: "/metrics", code: 200, body: "…promhttp_metric_handler_requests_in_flight 1\n"},
		"root":                 {path: "/", code: 404, body: "404 page not found\n"},
		"below ready":          {path: "/ready/x", code: 404, body: "404 page not found\n"},
		"profiles are off":     {path: "/debug/pprof/", code: 404, body: "404 page not found\n"},
		"one profile is off":   {path: "/debug/pprof/heap", code: 404, body: "404 page not found\n"},
		"profiles":             {path: "/debug/pprof/", pprof: true, code: 200, body: "…goroutine"},
		"named profile":        {path: "/debug/pprof/goroutine?debug=1", pprof: true, code: 200, body: "…goroutine profile: total"},
		"unknown profile":      {path: "/debug/pprof/nonesuch", pprof: true, code: 404, body: "Unknown profile\n"},
		"command line":         {path: "/debug/pprof/cmdline", pprof: true, code: 200, body: "…admin.test"},
		"symbol":               {path: "/debug/pprof/symbol", pprof: true, code: 200, body: "…num_symbols"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			own := prometheus.NewRegistry()
			s, err := admin.New(admin.Config{Gatherer: prometheus.Gatherers{registry, own}, Registerer: own, Ready: tt.ready, PProf: tt.pprof})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil))
			checkAnswer(t, w, tt.code, tt.body)
		})
	}
}

func checkAnswer(t *testing.T, w *httptest.ResponseRecorder, code int, body string) {
	t.Helper()
	if w.Code != code {
		t.Errorf("code %d, want %d", w.Code, code)
	}
	got := w.Body.String()
	if part, ok := strings.CutPrefix(body, "…"); ok {
		if !strings.Contains(got, part) {
			t.Errorf("body %q does not contain %q", got, part)
		}
	} else if got != body {
		t.Errorf("body %q, want %q", got, body)
	}
}

// start runs a server on a new listener and returns its URL, the function that stops it, and the
// result of Run. The listener is bound when start returns, so that requests wait for Run.
func start(t *testing.T, c admin.Config) (url string, stop func(), done <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Listener = l
	s, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return "http://" + l.Addr().String(), cancel, ended
}

func TestRun(t *testing.T) {
	url, stop, done := start(t, admin.Config{})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	r, err := client.Get(url + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if r.Body.Close(); err != nil || string(body) != "pong\n" {
		t.Errorf("/ping: %q, %v", body, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v, want no error after the context ended", err)
	}
}

func TestRunCuts(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	url, stop, done := start(t, admin.Config{Ready: func() (bool, []string) {
		close(inside)
		<-release
		return true, nil
	}})
	client := &http.Client{Transport: &http.Transport{}}
	answered := make(chan error, 1)
	go func() {
		r, err := client.Get(url + "/ready")
		if err == nil {
			r.Body.Close()
		}
		answered <- err
	}()
	<-inside
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v, want no error", err)
	}
	if err := <-answered; err == nil {
		t.Error("a request that doesn't end was answered after the stop")
	}
	close(release)
}

func TestRunFails(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s, err := admin.New(admin.Config{Listener: closed})
	if err != nil {
		t.Fatal(err)
	}
	want := "serve admin requests on " + closed.Addr().String()
	if err := s.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Run: %v, want %q", err, want)
	}
}

// Parallel scrapes are limited, because each has all metrics in memory (M13).
func TestScrapesAreLimited(t *testing.T) {
	const limit = 8
	inside, release := make(chan struct{}), make(chan struct{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 {
		inside <- struct{}{}
		<-release
		return 0
	}))
	s, err := admin.New(admin.Config{Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	scrape := func() int {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return w.Code
	}
	answered := make(chan int, limit)
	for range limit {
		go func() { answered <- scrape() }()
		<-inside
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one more is answered with %d, want 503", code)
	}
	close(release)
	for range limit {
		if code := <-answered; code != http.StatusOK {
			t.Errorf("answered with %d, want 200", code)
		}
	}
}

// Headers are limited, and an unused connection is closed (M13).
func TestConnectionsAreLimited(t *testing.T) {
	url, stop, done := start(t, admin.Config{})
	defer func() { stop(); <-done }()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, "GET /ping HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("y", 64<<10)+"\r\n\r\n")
	}()
	answer, err := io.ReadAll(conn)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 431 ") {
		t.Errorf("headers of 64 kB: %.100q, %v; want 431", answer, err)
	}
}

// A client that doesn't read its response is disconnected, and an unused connection is closed
// (M13). Both are measured in virtual time.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1)
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "big", Help: strings.Repeat("x", 1<<20)}))
		s, err := admin.New(admin.Config{Listener: l, Gatherer: registry})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		for path, want := range map[string]time.Duration{"/metrics": 30 * time.Second, "/ping": 30 * time.Second} {
			conn, err := l.DialContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if path == "/metrics" {
				time.Sleep(want + time.Second) // it doesn't read
			}
			begun := time.Now()
			answer, _ := io.ReadAll(conn)
			switch took := time.Since(begun); {
			case path == "/metrics" && len(answer) > 1<<19:
				t.Errorf("%s: %d bytes were kept for a client that doesn't read", path, len(answer))
			case path == "/ping" && took != want:
				t.Errorf("%s: the connection was kept for %v, want %v", path, took, want)
			}
			_ = conn.Close()
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestNewRefusesTakenMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "promhttp_metric_handler_requests_in_flight", Help: "taken"}))
	if _, err := admin.New(admin.Config{Gatherer: r, Registerer: r}); err == nil {
		t.Error("New accepted a registry in which the name of its metric is taken by another")
	}
}

// Clients that may not read the inspection API get no details of /ready (tenants, finding 20).
func TestReadyDetails(t *testing.T) {
	s, err := admin.New(admin.Config{
		Ready:   func() (bool, []string) { return false, []string{"leader: signpost-1 by lease dns/signpost"} },
		Reasons: func() []string { return []string{"pods: waiting"} },
		MayRead: func(r *http.Request) bool { return r.Header.Get("Authorization") != "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"": "not ready\npods: waiting\n", "x": "not ready\nleader: signpost-1 by lease dns/signpost\n"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ready", nil)
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		checkAnswer(t, w, 500, want)
	}
}

// A panic of a handler fails only its request, which gets a response, and is counted and logged
// (tenants S13).
func TestPanics(t *testing.T) {
	registry := prometheus.NewRegistry()
	var log strings.Builder
	url, stop, done := start(t, admin.Config{Registerer: registry, Log: slog.New(slog.NewTextHandler(&log, nil)), Handlers: map[string]http.Handler{
		"/early": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("early") }),
		"/late": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic("late")
		}),
	}})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 2 {
		r, err := client.Get(url + "/early")
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != 500 {
			t.Errorf("%d, want 500", r.StatusCode)
		}
	}
	if r, err := client.Get(url + "/late"); err == nil {
		_, err := io.ReadAll(r.Body)
		if r.Body.Close(); err == nil {
			t.Error("half an answer looks like a whole one")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	counted, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range counted {
		if family.GetName() == "http_server_panics_total" {
			for _, m := range family.Metric {
				got[m.Label[0].GetValue()] = m.Counter.GetValue()
			}
		}
	}
	if got["/early"] != 2 || got["/late"] != 1 {
		t.Errorf("counted %v", got)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "early") {
		t.Errorf("the log has %s", &log)
	}
}

// The connections of a host are limited, and the host with the most loses one to others (tenants,
// finding 19).
func TestConnectionsOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipetest.NewListener()
		s, err := admin.New(admin.Config{Listener: l})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		var all []net.Conn
		dial := func(ip string) net.Conn {
			ours := l.DialFrom(t, ip)
			synctest.Wait()
			all = append(all, ours)
			return ours
		}
		open := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now())
			_, err := c.Read(make([]byte, 1))
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		count := func(conns []net.Conn) (n int) {
			for _, c := range conns {
				if open(c) {
					n++
				}
			}
			return n
		}
		var greedy []net.Conn
		for host := range 4 {
			for range 200 {
				greedy = append(greedy, dial(fmt.Sprintf("2001:db8::%x", host)))
			}
			if n, want := count(greedy), 128*(host+1); n != want {
				t.Errorf("%d hosts have %d connections, want %d", host+1, n, want)
			}
		}
		probe := func(from string) {
			c := dial(from)
			go func() { _, _ = io.WriteString(c, "GET /ping HTTP/1.0\r\n\r\n") }()
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if answer, err := io.ReadAll(c); !strings.Contains(string(answer), "pong") {
				t.Errorf("a probe of %s meanwhile: %q, %v", from, answer, err)
			}
		}
		probe("2001:db8::99") // another pod of the node whose pods share the /64
		for i := range 8000 {
			greedy = append(greedy, dial(fmt.Sprintf("2001:db8::1:%x", i))) // a host with all addresses of the /64
		}
		for host := range 8 {
			for range 200 {
				dial(fmt.Sprintf("192.0.2.%d", host))
			}
		}
		if n := count(all); n != 512 {
			t.Errorf("%d connections in all, want 512", n)
		}
		probe("198.51.100.1")
		if n := count(greedy); n > 256 {
			t.Errorf("hosts of one /64 still have %d connections of 512", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
