package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// maxPause is the longest pause that requests wait for. If Azure asks for a longer one, all calls of the
// provider that have begun fail, and the publisher waits.
const maxPause = time.Minute

// errOtherHost is the error of a request to another host than the resource manager.
var errOtherHost = errors.New("the response redirects to another server, which must not get the token")

// rateLimit is the transport to the resource manager. After a response "too many requests", all requests
// wait, because the limits of Azure apply to the whole subscription.
type rateLimit struct {
	next http.RoundTripper
	// host is the resource manager's host.
	host string
	*pauses
}

// pauses are those of a subscription.
type pauses struct {
	mu sync.Mutex
	// until is the end of the pause. pauses counts the pauses in a row for which Azure gave no time.
	until  time.Time
	pauses int
	// closed is the end of the last pause that was longer than maxPause. closings counts such pauses.
	closed   time.Time
	closings int
}

// closingsKey is the context key for the value of closings at the beginning of a call of the provider.
type closingsKey struct{}

// begin returns the context for a call of the provider.
func (l *pauses) begin(ctx context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return context.WithValue(ctx, closingsKey{}, l.closings)
}

// left returns how long a request has to wait, or an error if that is too long.
func (l *pauses) left(ctx context.Context) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if closings, _ := ctx.Value(closingsKey{}).(int); closings < l.closings && time.Now().Before(l.closed) {
		return 0, &provider.ThrottledError{After: time.Until(l.closed)}
	}
	return time.Until(l.until), nil
}

// RoundTrip implements [http.RoundTripper].
func (l *rateLimit) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != l.host {
		return nil, httpapi.Unsent(r, fmt.Errorf("%s: %w", r.URL.Host, errOtherHost))
	}
	ctx := r.Context()
	if err := httpapi.Wait(ctx, func() (time.Duration, error) { return l.left(ctx) }); err != nil {
		return nil, httpapi.Unsent(r, err)
	}
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		l.noteResponse(resp)
	}
	return resp, err
}

// noteResponse evaluates a response, and starts a pause if Azure asks for one.
func (l *pauses) noteResponse(resp *http.Response) {
	throttled, ok := errors.AsType[*provider.ThrottledError](httpapi.Outcome(resp.StatusCode, resp.Header))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok {
		l.pauses = 0
		return
	}
	pause := throttled.After
	if pause == 0 {
		pause = min(time.Second<<min(l.pauses, 10), maxPause)
		l.pauses++
	}
	switch until := time.Now().Add(pause); {
	case pause > maxPause:
		l.closed = until
		l.closings++
	case until.After(l.until):
		l.until = until
	}
}
