// Package route sends the requests of some calls through another transport than
// [http.DefaultTransport].
//
// The modules of libdns create their own HTTP clients. Most of these clients use
// [http.DefaultTransport], which has no TLS files, dry runs, metrics or limits of the provider.
// This package therefore replaces http.DefaultTransport by a transport that reads the context of
// each request: requests with a context of [Via] use the transport given there, and all others the
// former default transport.
//
// dns/provider/libdns and the tests of its modules call it.
//
// # Concurrency
//
// The package replaces the transport when the program starts. Via may be called from any
// goroutine.
package route

import (
	"context"
	"net/http"
)

// via is the key of the transport in a context.
type via struct{}

// Via returns a context. http.DefaultTransport sends requests with that context through transport.
func Via(ctx context.Context, transport http.RoundTripper) context.Context {
	return context.WithValue(ctx, via{}, transport)
}

// A package variable is initialized before main, so no request is sent during the replacement.
var _ = replaceDefault()

// replaceDefault replaces http.DefaultTransport. It stays an [http.Transport], because many
// programs clone it.
func replaceDefault() struct{} {
	usual, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		http.DefaultTransport = fork{Usual: http.DefaultTransport}
		return struct{}{}
	}
	front := usual.Clone()
	front.RegisterProtocol("http", fork{Usual: usual})
	front.RegisterProtocol("https", fork{Usual: usual})
	http.DefaultTransport = front
	return struct{}{}
}

// fork sends a request through the transport of its context, or through Usual. The field is
// exported and the only one, because [http.Transport] then leaves HTTP/2 and the closing of
// connections to Usual, and logs nothing.
type fork struct{ Usual http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (f fork) RoundTrip(req *http.Request) (*http.Response, error) {
	if other, ok := req.Context().Value(via{}).(http.RoundTripper); ok {
		return other.RoundTrip(req)
	}
	return f.Usual.RoundTrip(req)
}
