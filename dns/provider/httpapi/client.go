package httpapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"

	"github.com/signpostd/signpost/dns/provider"
)

// Options says how a client sends requests.
type Options struct {
	// TLS is nil for the defaults of Go.
	TLS *tls.Config
	// Reads reports whether a request changes nothing, so that a dry run may send it. Nil is
	// a function that allows GET.
	Reads func(*http.Request) bool
	// Redirect decides about redirections as [http.Client].CheckRedirect does. Nil is a
	// function that follows none, because credentials would go along.
	Redirect func(req *http.Request, via []*http.Request) error
}

// NewClient returns a client of its own, whose connections are closed when ctx ends. It sends
// through in.Wrap. In a dry run, requests that change something fail with
// [provider.ErrDryRun] before they are sent.
func NewClient(ctx context.Context, in provider.Input, o Options) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.TLS != nil {
		transport.TLSClientConfig = o.TLS
	}
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	sender := in.Wrap(transport)
	if in.DryRun {
		sender = dryRun{next: sender, reads: o.Reads}
	}
	if o.Redirect == nil {
		o.Redirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &http.Client{Transport: sender, CheckRedirect: o.Redirect}
}

// dryRun is a transport that sends only requests that change nothing.
type dryRun struct {
	next  http.RoundTripper
	reads func(*http.Request) bool
}

// RoundTrip implements [http.RoundTripper].
func (d dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	if d.reads == nil && req.Method == http.MethodGet || d.reads != nil && d.reads(req) {
		return d.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, provider.ErrDryRun
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
