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
	// firstHold is how long nothing is sent after the first answer that there are too many
	// requests, if the answer doesn't say. Each further one doubles it, up to maxHold.
	firstHold = time.Second
	maxHold   = time.Minute
	// patience is how long a request waits here. If it would take longer, the publisher waits.
	patience = 15 * time.Second
)

// hold delays all requests after an answer "too many requests", because reads and changes of a project share its quotas.
type hold struct {
	mu sync.Mutex
	// until is when the next request may be sent.
	until time.Time
	// pause is the last one that Cloud DNS has not asked for.
	delay time.Duration
}

// wait returns when a request may be sent. It fails if that takes too long.
func (h *hold) wait(ctx context.Context) error {
	return httpapi.Wait(ctx, func() (time.Duration, error) {
		left := h.left()
		if left > patience {
			return 0, &provider.ThrottledError{After: left, Err: errors.New("not sent, because Cloud DNS has had too many requests")}
		}
		return left, nil
	})
}

func (h *hold) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.until)
}

// throttled notes an answer that asks for some time, or doesn't say for how long. It returns how
// long nothing is sent.
func (h *hold) throttled(after time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if after <= 0 {
		// Several answers of one moment count once.
		if !now.Before(h.until) {
			h.delay = min(max(2*h.delay, firstHold), maxHold)
		}
		after = h.delay + rand.N(h.delay/4+1)
	}
	if end := now.Add(after); end.After(h.until) {
		h.until = end
	}
	return h.until.Sub(now)
}

// answered notes any other answer.
func (h *hold) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().After(h.until) {
		h.delay = 0
	}
}

// soon reports whether a throttled request may be sent again after the pause.
func soon(err error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](err)
	return ok && throttled.After <= patience
}
