package aws

import (
	"io"
	"net/http"
	"strings"

	"github.com/signpostd/signpost/dns/provider"
)

// answerLimit is the most bytes of an answer that are read. A page of 300 record sets is
// usually below 1 MiB.
const answerLimit = 64 << 20

// gate is the transport of the requests to Route 53 of one account.
type gate struct {
	next http.RoundTripper
	pace *pace
	// dryRun is true when nothing may be changed.
	dryRun bool
	// limit is the most bytes of an answer that are read.
	limit int64
}

// RoundTrip implements [http.RoundTripper].
func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	u := writing
	// The tags of several zones are read with a POST.
	if r.Method == http.MethodGet || strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/tags/hostedzone") {
		u = reading
	}
	if u == writing && g.dryRun {
		return nil, drop(r, provider.ErrDryRun)
	}
	if err := g.pace.wait(r.Context(), u); err != nil {
		return nil, drop(r, err)
	}
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = limited{io.LimitReader(resp.Body, g.limit), resp.Body}
	return resp, nil
}

// drop ends a request that isn't sent.
func drop(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

// limited is the beginning of a body.
type limited struct {
	io.Reader
	io.Closer
}
