package awsaccess

import (
	"net/http"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// Gate is the transport of the requests to one service: they wait for their turn, answers have
// a size, and in a dry run nothing is changed.
type Gate struct {
	Next http.RoundTripper
	// Pace returns what a request waits for.
	Pace func(*http.Request) *Pace
	// Reads reports whether a request changes nothing.
	Reads func(*http.Request) bool
	// DryRun is true when nothing may be changed.
	DryRun bool
	// Limit is how many bytes of memory an answer may need decoded. A longer one fails with
	// [httpapi.ErrTooLarge].
	Limit int64
}

// RoundTrip implements [http.RoundTripper].
func (g Gate) RoundTrip(r *http.Request) (*http.Response, error) {
	u := Writing
	if g.Reads(r) {
		u = Reading
	}
	if u == Writing && g.DryRun {
		return nil, drop(r, provider.ErrDryRun)
	}
	if err := g.Pace(r).Wait(r.Context(), u); err != nil {
		return nil, drop(r, err)
	}
	resp, err := g.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = httpapi.LimitDecoded(resp.Body, g.Limit)
	return resp, nil
}

// drop ends a request that isn't sent.
func drop(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}
