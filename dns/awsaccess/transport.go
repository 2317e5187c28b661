package awsaccess

import (
	"net/http"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// LimitedTransport is the transport of requests to one service. It limits the request rate and the size of
// responses, and drops writes in a dry run.
type LimitedTransport struct {
	Next http.RoundTripper
	// Pace returns the rate limit of a request. Nil means no limit.
	Pace func(*http.Request) *Pace
	// Reads reports whether a request changes nothing. It may be nil without Pace and DryRun.
	Reads func(*http.Request) bool
	// DryRun drops requests that change something.
	DryRun bool
	// Limit limits the decoded size of a response, in bytes. A larger one fails with
	// [httpapi.ErrTooLarge].
	Limit int64
}

// RoundTrip implements [http.RoundTripper].
func (g LimitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	u := Writing
	if g.Reads != nil && g.Reads(r) {
		u = Reading
	}
	if u == Writing && g.DryRun {
		return nil, httpapi.Unsent(r, provider.ErrDryRun)
	}
	if g.Pace != nil {
		if err := g.Pace(r).Wait(r.Context(), u); err != nil {
			return nil, httpapi.Unsent(r, err)
		}
	}
	resp, err := g.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = httpapi.LimitDecoded(resp.Body, g.Limit)
	return resp, nil
}
