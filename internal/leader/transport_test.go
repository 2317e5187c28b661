package leader

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server counts the requests that it has received completely.
type server struct {
	*httptest.Server
	whole   atomic.Int32
	arrived chan string // methods
	release chan struct{}
}

// newServer returns a server that responds at once, except below /slow/ and, for bodies, /stream/.
func newServer(t *testing.T, start func(*httptest.Server)) *server {
	s := &server{arrived: make(chan string, 10), release: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.whole.Add(1)
		s.arrived <- r.Method
		if strings.HasPrefix(r.URL.Path, "/stream/") {
			_, _ = w.Write([]byte("begin"))
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.Path != "/" {
			select {
			case <-s.release:
			case <-r.Context().Done():
			}
		}
	}))
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

// protocols are the kinds of servers; API servers use HTTP/2.
var protocols = map[string]func(*httptest.Server){
	"HTTP/1": (*httptest.Server).Start,
	"HTTP/2": func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	},
}

// do sends a request with a body, and reads the response.
func do(t *testing.T, next http.RoundTripper, method, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: next}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	return err
}

func TestWrapRefusesWrites(t *testing.T) {
	s := newServer(t, protocols["HTTP/2"])
	f := testFence()
	wrapped := f.Wrap(s.Client().Transport)
	changing := []string{"POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"}
	for _, method := range changing {
		if err := do(t, wrapped, method, s.URL); !errors.Is(err, ErrNotLeading) || !strings.Contains(err.Error(), "lease ns/a") {
			t.Errorf("%s past a closed fence: %v", method, err)
		}
	}
	if n := s.whole.Load(); n != 0 {
		t.Errorf("%d refused requests arrived", n)
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		if err := do(t, wrapped, method, s.URL); err != nil {
			t.Errorf("%s past a closed fence: %v", method, err)
		}
	}
	term := f.newTerm(ignore)
	term.renewed(time.Now())
	for _, method := range changing {
		if err := do(t, wrapped, method, s.URL); err != nil {
			t.Errorf("%s past an open fence: %v", method, err)
		}
	}
	if n := len(term.cancels); n != 1 {
		t.Errorf("%d entries of finished requests are left", n-1)
	}
	if err := do(t, Unfenced().Wrap(s.Client().Transport), "POST", s.URL); err != nil {
		t.Errorf("POST unfenced: %v", err)
	}
}

func TestWrapClosesBodiesOfRefusedRequests(t *testing.T) {
	body := &closed{Reader: strings.NewReader("body")}
	request, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.org", body)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := testFence().Wrap(http.DefaultTransport).RoundTrip(request); err == nil {
		response.Body.Close()
		t.Error("the fence let a request pass")
	}
	if !body.closed {
		t.Error("the body is open")
	}
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error {
	c.closed = true
	return nil
}

func TestWrapCancelsRequestsInFlight(t *testing.T) {
	for protocol, start := range protocols {
		for name, path := range map[string]string{"no answer yet": "/slow/", "half an answer": "/stream/"} {
			t.Run(protocol+", "+name, func(t *testing.T) { testInFlight(t, newServer(t, start), path) })
		}
	}
}

func testInFlight(t *testing.T, s *server, path string) {
	f := testFence()
	term := f.newTerm(ignore)
	term.renewed(time.Now())
	wrapped := f.Wrap(s.Client().Transport)
	got := make(chan error, 3)
	for _, method := range []string{"PUT", "DELETE", "GET"} {
		go func() { got <- do(t, wrapped, method, s.URL+path) }()
		if arrived := receive(t, 5*time.Second, s.arrived); arrived != method {
			t.Fatal(arrived)
		}
	}
	term.end("enough")
	for range 2 {
		if err := receive(t, 5*time.Second, got); !errors.Is(err, ErrNotLeading) || !strings.Contains(err.Error(), "enough") {
			t.Errorf("a write ended with %v", err)
		}
	}
	close(s.release)
	if err := receive(t, 5*time.Second, got); err != nil {
		t.Errorf("GET: %v", err)
	}
}

func TestWrapReturnsOtherErrorsUnchanged(t *testing.T) {
	f := testFence()
	f.newTerm(ignore).renewed(time.Now())
	broken := errors.New("broken")
	err := do(t, f.Wrap(roundTripper(func(*http.Request) (*http.Response, error) { return nil, broken })), "POST", "http://example.org")
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// A process is paused after the fence has admitted a request, and before the request is sent.
func TestWrapChecksAgainBeforeSending(t *testing.T) {
	for protocol, start := range protocols {
		for name, stopped := range map[string]func(f *Fence, jump func()){
			"the clock jumped":  func(_ *Fence, jump func()) { jump() },
			"a later term came": func(f *Fence, jump func()) { jump(); _ = f.Check(); f.newTerm(ignore).renewed(f.now()) },
		} {
			t.Run(protocol+", "+name, func(t *testing.T) { testStopped(t, newServer(t, start), stopped) })
		}
	}
}

func testStopped(t *testing.T, s *server, stopped func(f *Fence, jump func())) {
	f := testFence()
	var jumped atomic.Int64
	f.now = func() time.Time { return time.Now().Add(time.Duration(jumped.Load())) }
	f.newTerm(ignore).renewed(f.now())
	if err := do(t, f.Wrap(s.Client().Transport), "PUT", s.URL); err != nil { // there is a connection now
		t.Fatal(err)
	}
	dialed := roundTripper(func(request *http.Request) (*http.Response, error) {
		// The transport does this before it tries another connection.
		body, err := request.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		request.Body.Close()
		request.Body = body
		stopped(f, func() { jumped.Add(int64(time.Minute)) })
		// The end of the context may be noticed late, too.
		return s.Client().Transport.RoundTrip(request.WithContext(context.WithoutCancel(request.Context())))
	})
	if err := do(t, f.Wrap(dialed), "PUT", s.URL); !errors.Is(err, ErrNotLeading) {
		t.Errorf("got %v", err)
	}
	if n := s.whole.Load(); n != 1 {
		t.Errorf("%d requests arrived after the process was stopped", n-1)
	}
}
