package objectserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// host is the host in the URLs of clients that use [Server.Config]. It is never resolved.
const host = "http://objects.invalid"

// Config returns a configuration for clients in this process.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: host, Transport: inProcess{s}}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, namespace, ok := resourceAt(r.URL.Path)
	kind, known := s.kindOf(resource)
	switch {
	case !ok || !known:
		http.Error(w, "no such resource: name its kind when the server is made", http.StatusNotFound)
	case r.URL.Query().Get("sendInitialEvents") != "true":
		// There are no earlier versions to continue from. After this error, clients list again.
		http.Error(w, "only watches with sendInitialEvents=true are served", http.StatusGone)
	default:
		s.watch(w, r, s.open(resource, kind, namespace))
	}
}

// resourceAt parses a path such as /api/v1/pods or /apis/networking.k8s.io/v1/namespaces/shop/ingresses.
func resourceAt(path string) (r schema.GroupVersionResource, namespace string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		r.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.Group, r.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return r, "", false
	}
	if len(parts) == 3 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	return r, namespace, len(parts) == 1
}

// watch streams the existing objects, and then their changes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, watcher *watcher) {
	defer s.close(watcher)
	out, err := newStream(w, r.Header.Get("Accept"), watcher.kind)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-watcher.wake:
		}
		for _, e := range s.next(watcher) {
			if out.send(e) != nil {
				return
			}
		}
	}
}

// inProcess calls a handler for each request.
type inProcess struct{ http.Handler }

// CloseIdleConnections does nothing, because there are no connections. HTTP clients look for the method.
func (inProcess) CloseIdleConnections() {}

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	response := &response{body: writer, header: http.Header{}, begun: make(chan struct{})}
	go func() {
		p.ServeHTTP(response, r.WithContext(ctx))
		response.WriteHeader(http.StatusOK)
		writer.CloseWithError(context.Cause(ctx)) // nil means EOF
	}()
	stop := context.AfterFunc(ctx, func() { writer.CloseWithError(context.Cause(ctx)) })
	select {
	case <-response.begun:
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		Status: fmt.Sprint(response.code, " ", http.StatusText(response.code)), StatusCode: response.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: response.sent, ContentLength: -1, Request: r,
		Body: &body{PipeReader: reader, end: func() {
			stop()
			cancel()
		}},
	}, nil
}

// response is a response being written.
type response struct {
	body   *io.PipeWriter
	header http.Header
	// code and sent, a copy of the header, are set when begun is closed.
	begun chan struct{}
	code  int
	sent  http.Header
}

// Header implements http.ResponseWriter.
func (a *response) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Only the first call has an effect.
func (a *response) WriteHeader(code int) {
	if a.code == 0 {
		a.code, a.sent = code, a.header.Clone()
		close(a.begun)
	}
}

// Write implements http.ResponseWriter.
func (a *response) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush implements http.Flusher. Nothing is buffered.
func (a *response) Flush() {}

// body ends the request when it is closed.
type body struct {
	*io.PipeReader
	end func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.end()
	return b.PipeReader.Close()
}
