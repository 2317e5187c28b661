package httpapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

// silence is how long a connection of HTTP/2 may be silent before it is tested, and how long the test takes. A
// device in between may drop a connection without an answer; TCP would notice that after 15 minutes.
const silence = 15 * time.Second

// Options are the settings of a client.
type Options struct {
	// SkipTLSVerify accepts any certificate of the server.
	SkipTLSVerify bool
	// Reads reports whether a request changes nothing, so that a dry run may send it. Nil means GET
	// and HEAD.
	Reads func(*http.Request) bool
	// Redirect is [http.Client].CheckRedirect. Nil follows no redirects, because they would get the
	// credentials.
	Redirect func(req *http.Request, via []*http.Request) error
	// MaxRequest and MaxResponse limit the body of a request, and of a response after decompression, in
	// bytes. Zero means 64 MiB; a negative number means no limit.
	MaxRequest, MaxResponse int64
	// MaxDecoded limits the memory of a decoded response, in bytes. Zero means [DefaultDecoded]; a
	// negative number means no limit, for responses that are decoded entry by entry.
	MaxDecoded int64
}

// NewClient returns a client whose connections are closed when ctx ends. It is for the requests of
// a provider, or for a vendor's SDK, as its client or with its Transport:
//
//   - Servers are reached through the proxies of the environment, with the files of in.TLS.
//   - in.Wrap sees each request last, to count, time or trace it.
//   - The User-Agent names this program before the SDK.
//   - In a dry run, requests that change something fail with [provider.ErrDryRun] before they are
//     sent.
//   - A body that is too large, also when decoded, fails with [ErrTooLarge].
func NewClient(ctx context.Context, in provider.Input, o Options) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.SkipTLSVerify}
	if err := in.TLS.AddTo(transport.TLSClientConfig, provider.TLSFlags()); err != nil {
		return nil, err
	}
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence}
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	var sender http.RoundTripper = limited{next: named{next: in.Wrap(transport)}, request: limitOf(o.MaxRequest, defaultLimit), response: limitOf(o.MaxResponse, defaultLimit), decoded: limitOf(o.MaxDecoded, DefaultDecoded)}
	if in.DryRun {
		sender = dryRun{next: sender, reads: o.Reads}
	}
	if o.Redirect == nil {
		o.Redirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &http.Client{Transport: sender, CheckRedirect: o.Redirect}, nil
}

// SameHost reports whether a redirect stays at the same host, port and scheme. Another host must
// not learn the request, and may be reachable by this machine only.
func SameHost(req *http.Request, via []*http.Request) bool {
	return req.URL.Scheme == via[0].URL.Scheme && strings.EqualFold(req.URL.Host, via[0].URL.Host)
}

// dryRun is a transport that only sends requests that change nothing.
type dryRun struct {
	next  http.RoundTripper
	reads func(*http.Request) bool
}

// RoundTrip implements [http.RoundTripper].
func (d dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	reads := d.reads
	if reads == nil {
		reads = gets
	}
	if reads(req) {
		return d.next.RoundTrip(req)
	}
	return nil, Unsent(req, provider.ErrDryRun)
}

func gets(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead
}

// Unsent closes the body of a request that isn't sent, as a transport must, and returns why.
func Unsent(req *http.Request, why error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return why
}

// ParseURL parses the base URL of an API, the value of a flag. Its errors name the flag, and show
// no password.
func ParseURL(flag, value, example string) (*url.URL, error) {
	base, err := url.Parse(value)
	if err != nil {
		// The error of url.Parse repeats the value, which may contain a password.
		return nil, fmt.Errorf("%s: not a URL: give one such as %s", flag, example)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%s %s: give a URL that begins with http:// or https:// and names a host", flag, base.Redacted())
	}
	return base, nil
}
