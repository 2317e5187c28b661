package azure

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// maxPause is the longest pause that requests wait for.
const maxPause = time.Minute

// errOtherHost is the error of a request to another host than the resource manager.
var errOtherHost = errors.New("the response redirects to another server, which must not get the token")

// rateLimit is the transport to the resource manager. After a response "too many requests", all requests
// wait, because the limits of Azure apply to the whole subscription.
type rateLimit struct {
	next http.RoundTripper
	// host is the resource manager's host.
	host string
	*httpapi.Throttle
}

// RoundTrip implements [http.RoundTripper].
func (l *rateLimit) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != l.host {
		return nil, httpapi.Unsent(r, fmt.Errorf("%s: %w", r.URL.Host, errOtherHost))
	}
	if err := l.Wait(r.Context()); err != nil {
		return nil, httpapi.Unsent(r, err)
	}
	resp, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if throttled, ok := errors.AsType[*provider.ThrottledError](httpapi.Outcome(resp.StatusCode, resp.Header)); ok {
		l.Pause(throttled.After)
	} else {
		l.Passed()
	}
	return resp, nil
}
