// Package route sends the requests of some calls another way than [http.DefaultTransport] does.
//
// The modules of libdns make their HTTP clients themselves, most of them without a transport, so
// that they send with [http.DefaultTransport]. They would go past what a provider promises: files
// for TLS, dry runs, metrics, limits. When this package is linked, http.DefaultTransport is
// replaced by a transport that looks at the context of a request: after [Via] it sends as that
// says, and otherwise exactly as before.
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

// Via returns a context for requests that go through a transport if http.DefaultTransport is
// asked to send them.
func Via(ctx context.Context, transport http.RoundTripper) context.Context {
	return context.WithValue(ctx, via{}, transport)
}

// Before the program starts nothing is sent yet, so nobody can see the transport half replaced.
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

// fork sends each request one way or the other. The field is exported and alone in the struct:
// then [http.Transport] knows that HTTP/2 is the business of the usual transport, closes its
// connections, and logs nothing.
type fork struct{ Usual http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (f fork) RoundTrip(req *http.Request) (*http.Response, error) {
	if other, ok := req.Context().Value(via{}).(http.RoundTripper); ok {
		return other.RoundTrip(req)
	}
	return f.Usual.RoundTrip(req)
}
