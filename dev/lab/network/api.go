package network

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/testkit/certtest"
)

// bodyLimit is the maximum size of a request body, above that of the API server.
const bodyLimit = 8 << 20

// API is a proxy from one replica to the API server. While a [Failure] is active, it responds to some
// requests itself. It records each write as a history.Write, which excludes reads, dry runs and access
// reviews. A request with an incomplete body is not recorded.
//
// If the API server is unreachable or aborts a response, the API aborts its own response: it never invents
// one.
type API struct {
	recorder Recorder
	replica  string
	token    string
	proxy    *httputil.ReverseProxy
	server   *http.Server
	addr     string
	faults   faults[failing]
	ca       *certtest.Authority
	cert     atomic.Pointer[tls.Certificate]
	serving  sync.WaitGroup // of the listener

	mu        sync.Mutex
	closed    bool
	exchanges map[*exchange]struct{} // active ones
	active    sync.WaitGroup         // active exchanges
}

// newAPI listens with a certificate of an authority. Requests must have the token.
func newAPI(recorder Recorder, replica string, to destination, ca *certtest.Authority, token string) (*API, error) {
	cert, err := issue(ca)
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the requests of %s: %w", replica, err)
	}
	a := &API{recorder: recorder, replica: replica, token: token, addr: l.Addr().String(), exchanges: map[*exchange]struct{}{}, ca: ca}
	a.cert.Store(cert)
	silent := log.New(io.Discard, "", 0)
	a.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to.url)
			r.Out.Header.Del("Authorization") // the token is for the API
		},
		Transport:      roundTripper{},
		ModifyResponse: func(r *http.Response) error { return exchangeOf(r.Request).received(r) },
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { exchangeOf(r).failed(w, r, err) },
		FlushInterval:  -1, // for watches
		ErrorLog:       silent,
	}
	a.server = &http.Server{
		Handler: http.HandlerFunc(a.serve),
		TLSConfig: &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.cert.Load(), nil },
			MinVersion:     tls.VersionTLS12,
		},
		ConnContext:       withDownstream,
		ErrorLog:          silent,
		ReadHeaderTimeout: time.Minute,
	}
	a.serving.Go(func() { _ = a.server.ServeTLS(&listener{l, to}, "", "") })
	return a, nil
}

// Fail begins a Failure.
func (a *API) Fail(f Failure) (end func()) {
	begun := a.faults.begin(failing{f, newDice(f.Share, f.Seed)})
	return func() { a.faults.end(begun) }
}

// RotateCertificate replaces the server's certificate by another one of the same authority. Open connections
// keep their certificate, but watches are aborted.
func (a *API) RotateCertificate() error {
	cert, err := issue(a.ca)
	if err != nil {
		return fmt.Errorf("rotate the certificate that %s sees: %w", a.replica, err)
	}
	a.cert.Store(cert)
	a.CutWatches()
	return nil
}

// CutWatches aborts all active watches. New ones work.
func (a *API) CutWatches() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for x := range a.exchanges {
		if x.request.watch {
			x.cancel()
		}
	}
}

// close aborts all exchanges, and returns when all are recorded.
func (a *API) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	_ = a.server.Close()
	a.serving.Wait()
	a.active.Wait()
}

// serve serves one request. To abort a response it panics with http.ErrAbortHandler.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	x := a.begin(r)
	if x == nil {
		panic(http.ErrAbortHandler)
	}
	defer a.end(x)
	if r.Header.Get("Authorization") != "Bearer "+a.token {
		http.Error(w, "give the token of the kubeconfig that the lab has written for "+a.replica, http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", bodyLimit), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if x.request.changes {
		x.request.readBody(body)
		defer x.record()
	}
	x.serve(w, r, body)
}

// begin adds an exchange. It returns nil if the API is closed.
func (a *API) begin(r *http.Request) *exchange {
	x := &exchange{api: a, request: parse(r.Method, r.URL), arrived: a.recorder.Now(), conn: downstreamOf(r), status: -1}
	x.ctx, x.cancel = context.WithCancel(context.WithValue(r.Context(), exchangeKey{}, x))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		x.cancel()
		return nil
	}
	a.exchanges[x] = struct{}{}
	a.active.Add(1)
	return x
}

func (a *API) end(x *exchange) {
	x.cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.exchanges, x)
	a.active.Done()
}
