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

// longestHold is the longest pause that requests wait for. If Azure asks for a longer one, all
// calls of the provider fail that have begun, and the publisher waits.
const longestHold = time.Minute

// errElsewhere is the error of a request to another server than the resource manager.
var errElsewhere = errors.New("an answer leads to another server: the token isn't sent there")

// gate is the transport of all requests to the resource manager. After an answer "too many requests", all
// requests wait, because the limits of Azure are those of the subscription.
type gate struct {
	next http.RoundTripper
	// host is that of the resource manager.
	host string

	mu sync.Mutex
	// until is when requests may be sent again, and pauses how often in a row Azure has asked
	// for a pause without saying how long.
	until  time.Time
	pauses int
	// closed is the end of the last pause that was too long to wait for, and closings counts
	// these pauses.
	closed   time.Time
	closings int
}

// begun is the key of the context in which a call of the provider has the count of closings at
// its beginning.
type begun struct{}

// begin returns the context of a call of the provider.
func (g *gate) begin(ctx context.Context) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	return context.WithValue(ctx, begun{}, g.closings)
}

// left returns for how long requests have to wait. If that is too long, it returns an error.
func (g *gate) left(ctx context.Context) (time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if closings, _ := ctx.Value(begun{}).(int); closings < g.closings && time.Now().Before(g.closed) {
		return 0, &provider.ThrottledError{After: time.Until(g.closed)}
	}
	return time.Until(g.until), nil
}

// RoundTrip implements [http.RoundTripper].
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != g.host {
		return nil, httpapi.Unsent(r, fmt.Errorf("%s: %w", r.URL.Host, errElsewhere))
	}
	ctx := r.Context()
	if err := httpapi.Wait(ctx, func() (time.Duration, error) { return g.left(ctx) }); err != nil {
		return nil, httpapi.Unsent(r, err)
	}
	resp, err := g.next.RoundTrip(r)
	if err == nil {
		g.answered(resp)
	}
	return resp, err
}

// answered notes when an answer asks for a pause.
func (g *gate) answered(resp *http.Response) {
	throttled, ok := errors.AsType[*provider.ThrottledError](httpapi.Outcome(resp.StatusCode, resp.Header))
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		g.pauses = 0
		return
	}
	pause := throttled.After
	if pause == 0 {
		pause = min(time.Second<<min(g.pauses, 10), longestHold)
		g.pauses++
	}
	switch until := time.Now().Add(pause); {
	case pause > longestHold:
		g.closed = until
		g.closings++
	case until.After(g.until):
		g.until = until
	}
}
