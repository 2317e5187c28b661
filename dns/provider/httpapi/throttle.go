package httpapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	// firstPause is the pause after the first response "too many requests" without a time. It doubles with
	// each further one, up to maxPause.
	firstPause = time.Second
	maxPause   = time.Minute
)

// Throttle pauses all requests after a response "too many requests", because the requests of an account share
// its limits.
type Throttle struct {
	// Service is the name of the service, for errors.
	Service string
	// MaxWait is the longest pause that requests wait for. In a longer one they fail, and the publisher waits.
	MaxWait time.Duration

	mu sync.Mutex
	// until is the end of the pause.
	until time.Time
	// delay is the last pause for which the service gave no time.
	delay time.Duration
}

// Wait returns when a request may be sent, or with an error if that takes too long.
func (t *Throttle) Wait(ctx context.Context) error {
	return Wait(ctx, func() (time.Duration, error) {
		left := t.left()
		if left > t.MaxWait {
			return 0, &provider.ThrottledError{After: left, Err: fmt.Errorf("not sent, because %s has had too many requests", t.Service)}
		}
		return left, nil
	})
}

func (t *Throttle) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.until)
}

// Pause starts a pause, of a given time (at most an hour) or of the next delay if that is zero. It returns the
// remaining pause.
func (t *Throttle) Pause(after time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if after <= 0 {
		// Responses during a pause don't double it.
		if !now.Before(t.until) {
			t.delay = min(max(2*t.delay, firstPause), maxPause)
		}
		after = t.delay + rand.N(t.delay/4+1)
	}
	after = min(after, provider.LongestPause)
	if end := now.Add(after); end.After(t.until) {
		t.until = end
	}
	return t.until.Sub(now)
}

// Passed notes any other response.
func (t *Throttle) Passed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().After(t.until) {
		t.delay = 0
	}
}
