package google

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const (
	// firstPause is the pause after the first response "too many requests" without a time. It doubles with
	// each further one, up to maxPause.
	firstPause = time.Second
	maxPause   = time.Minute
	// maxWait limits the wait for a pause to end. For a longer pause, the request fails and the publisher
	// waits.
	maxWait = 15 * time.Second
)

// throttle pauses all requests after a response "too many requests", because reads and changes of a project
// share its quotas.
type throttle struct {
	mu sync.Mutex
	// until is the end of the pause.
	until time.Time
	// delay is the last pause for which Cloud DNS gave no time.
	delay time.Duration
}

// wait returns when a request may be sent, or with an error if that takes too long.
func (h *throttle) wait(ctx context.Context) error {
	return httpapi.Wait(ctx, func() (time.Duration, error) {
		left := h.left()
		if left > maxWait {
			return 0, &provider.ThrottledError{After: left, Err: errors.New("not sent, because Cloud DNS has had too many requests")}
		}
		return left, nil
	})
}

func (h *throttle) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.until)
}

// throttled starts a pause, of a given time or of the next delay if that is zero. It returns the remaining
// pause.
func (h *throttle) throttled(after time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if after <= 0 {
		// Responses during a pause don't double it.
		if !now.Before(h.until) {
			h.delay = min(max(2*h.delay, firstPause), maxPause)
		}
		after = h.delay + rand.N(h.delay/4+1)
	}
	if end := now.Add(after); end.After(h.until) {
		h.until = end
	}
	return h.until.Sub(now)
}

// noteResponse notes any other response.
func (h *throttle) noteResponse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().After(h.until) {
		h.delay = 0
	}
}

// mayRetry reports whether to retry a throttled request after the pause.
func mayRetry(err error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](err)
	return ok && throttled.After <= maxWait
}
