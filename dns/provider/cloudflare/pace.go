package cloudflare

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// Cloudflare allows 1,200 requests in five minutes per user, with all tokens together (Fundamentals, API,
// Rate limits). A publisher sends at most 1,140, to leave some for other programs.
const (
	// burst is the number of requests that may be sent at once, and perSecond the rate after that.
	burst     = 240
	perSecond = 3.0
	// reserve is the part of the burst that only writes may use.
	reserve = 40
	// maxHold is the longest pause that requests wait for. If Cloudflare asks for more, the request fails and
	// the publisher waits.
	maxHold   = 30 * time.Second
	firstHold = time.Second
)

// urgency is the priority of a waiting request.
type urgency int

const (
	reading urgency = iota
	writing
)

// pace limits the request rate of one account with a token bucket.
type pace struct {
	// most is the size of the bucket.
	most float64

	mu     sync.Mutex
	tokens float64
	// filled is the time for which tokens was computed.
	filled time.Time
	// held is the end of the current pause, and hold its length.
	held time.Time
	hold time.Duration
}

func newPace() *pace { return &pace{most: burst, tokens: burst, filled: time.Now()} }

// wait returns when a request may be sent, or with the error of ctx.
func (p *pace) wait(ctx context.Context, u urgency) error {
	return httpapi.Wait(ctx, func() (time.Duration, error) { return p.take(u), nil })
}

// isHeld reports whether a pause is running.
func (p *pace) isHeld() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.held) > 0
}

// take takes a token and returns 0, or returns how long to wait before another try.
func (p *pace) take(u urgency) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.tokens = min(p.tokens+perSecond*now.Sub(p.filled).Seconds(), p.most)
	p.filled = now
	if delay := p.held.Sub(now); delay > 0 {
		return delay
	}
	need := 1.0
	if u == reading {
		need += reserve
	}
	if p.tokens >= need {
		p.tokens--
		return 0
	}
	// The extra millisecond avoids another wait because of rounding.
	return time.Duration((need-p.tokens)/perSecond*float64(time.Second)) + time.Millisecond
}

// observe starts a pause if a response says that there were too many requests.
func (p *pace) observe(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if resp.StatusCode != http.StatusTooManyRequests {
		p.hold = 0
		if left, ok := number(remainingCount, resp.Header); ok && left == 0 {
			p.holdFor(remainingTime(resp.Header))
		}
		return
	}
	p.tokens /= 2
	p.hold = max(firstHold, min(2*p.hold, maxHold))
	after := p.hold
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if t := remainingTime(resp.Header); t > 0 {
		after = t
	}
	p.holdFor(after)
}

func (p *pace) holdFor(d time.Duration) {
	if until := time.Now().Add(d); d <= maxHold && until.After(p.held) {
		p.held = until
	}
}

// The header Ratelimit has the remaining requests (r) and the seconds for which they must last (t):
// "default";r=50;t=30.
var (
	remainingCount   = regexp.MustCompile(`;\s*r=(\d{1,9})\b`)
	remainingSeconds = regexp.MustCompile(`;\s*t=(\d{1,9})\b`)
)

func remainingTime(h http.Header) time.Duration {
	n, _ := number(remainingSeconds, h)
	return time.Duration(n) * time.Second
}

func number(pattern *regexp.Regexp, h http.Header) (n int, ok bool) {
	found := pattern.FindStringSubmatch(strings.Join(h.Values("Ratelimit"), ","))
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}
