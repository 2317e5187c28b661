// Package handlertransport sends HTTP requests to a handler without a network. The test servers for cloud
// services use it, so that their clients work under testing/synctest.
//
// # Concurrency
//
// A transport may be used from any goroutine, if the handler may.
package handlertransport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
)

// ErrCut is the client's error for a connection that is closed without a response.
var ErrCut = errors.New("the connection was closed without a response")

// New returns a transport that passes requests to a handler.
func New(handler http.Handler) http.RoundTripper { return direct{handler} }

// Func is a transport that is a function.
type Func func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f Func) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type direct struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	defer func() {
		// A handler panics with this value to make net/http close the connection.
		if cause := recover(); cause == http.ErrAbortHandler {
			resp, err = nil, ErrCut
		} else if cause != nil {
			panic(cause)
		}
	}()
	arrived := r.Clone(r.Context())
	arrived.Body = io.NopCloser(bytes.NewReader(body))
	if arrived.Host == "" {
		arrived.Host = r.URL.Host
	}
	response := httptest.NewRecorder()
	d.handler.ServeHTTP(response, arrived)
	resp = response.Result()
	resp.Request = r
	return resp, nil
}
