package httpapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/signpostd/signpost/dns/provider"
)

// Options says how a client sends requests.
type Options struct {
	// SkipTLSVerify is true when the server may have any certificate.
	SkipTLSVerify bool
	// Reads reports whether a request changes nothing, so that a dry run may send it. Nil is
	// a function that allows GET and HEAD.
	Reads func(*http.Request) bool
	// Redirect decides about redirections as [http.Client].CheckRedirect does. Nil is a
	// function that follows none, because credentials would go along.
	Redirect func(req *http.Request, via []*http.Request) error
	// MaxRequest and MaxAnswer are the most bytes in the body of a request, and of an answer
	// after it was unpacked. Zero is 64 MiB; a negative number is no limit.
	MaxRequest, MaxAnswer int64
	// MaxDecoded is how many bytes of memory an answer may need decoded. Zero is [DefaultDecoded]; a
	// negative number is no limit, for answers that are decoded entry by entry.
	MaxDecoded int64
}

// NewClient returns a client of its own, whose connections are closed when ctx ends. It is for
// the requests of a provider, and just as well for the SDK of a vendor, as its client, or with
// its Transport as what the SDK sends through:
//
//   - Servers are reached over the proxies that the environment names, with the files of
//     in.TLS.
//   - in.Wrap sees each request last, to count, time or trace it.
//   - Servers are told what this program is, before what the SDK says.
//   - In a dry run, requests that change something fail with [provider.ErrDryRun] before they
//     are sent.
//   - A body that is too large, or would be when it is decoded, fails with [ErrTooLarge].
func NewClient(ctx context.Context, in provider.Input, o Options) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.SkipTLSVerify}
	if err := in.TLS.AddTo(transport.TLSClientConfig); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	var sender http.RoundTripper = limited{next: named{next: in.Wrap(transport)}, request: limitOf(o.MaxRequest, defaultLimit), answer: limitOf(o.MaxAnswer, defaultLimit), decoded: limitOf(o.MaxDecoded, DefaultDecoded)}
	if in.DryRun {
		sender = dryRun{next: sender, reads: o.Reads}
	}
	if o.Redirect == nil {
		o.Redirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &http.Client{Transport: sender, CheckRedirect: o.Redirect}, nil
}

// SameHost reports whether a redirection leads to the host, and the port, that was asked, with the
// same scheme. Another host must not learn what was asked, and may be one that only this machine
// can reach.
func SameHost(req *http.Request, via []*http.Request) bool {
	return req.URL.Scheme == via[0].URL.Scheme && strings.EqualFold(req.URL.Host, via[0].URL.Host)
}

// dryRun is a transport that sends only requests that change nothing.
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
	return nil, unsent(req, provider.ErrDryRun)
}

func gets(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead
}

// unsent closes the body of a request that isn't sent, as a transport has to, and returns why.
func unsent(req *http.Request, why error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return why
}

// ParseURL returns the base URL of an API, which a flag has as its value. Its errors name the
// flag, and show no password.
func ParseURL(flag, value, example string) (*url.URL, error) {
	base, err := url.Parse(value)
	if err != nil {
		// The error of url.Parse repeats the value, which may have a password in it.
		return nil, fmt.Errorf("%s: not a URL: give one such as %s", flag, example)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%s %s: give a URL that begins with http:// or https:// and names a host", flag, base.Redacted())
	}
	return base, nil
}
