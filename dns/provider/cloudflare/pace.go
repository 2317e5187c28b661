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

// Cloudflare answers 1,200 requests in five minutes for a user, with all tokens together (Fundamentals,
// API, Rate limits). Of these, a publisher sends at most 1,140: some are left for other programs.
const (
	// burst is how many requests may be sent at once, and perSecond how many more after that.
	burst     = 240
	perSecond = 3.0
	// reserve is how many of the burst only changes may take.
	reserve = 40
	// longestHold is the longest time that requests are held back. If Cloudflare asks for more, the
	// request that asked fails, and the publisher waits.
	longestHold = 30 * time.Second
	firstHold   = time.Second
)

// urgency says who goes first when requests have to wait.
type urgency int

const (
	reading urgency = iota
	writing
)

// pace holds the requests of one account back when there are too many.
type pace struct {
	// most is how many requests may be sent at once.
	most float64

	mu     sync.Mutex
	tokens float64
	// filled is when tokens was right.
	filled time.Time
	// held is until when nothing is sent, and hold for how long that was last.
	held time.Time
	hold time.Duration
}

func newPace() *pace { return &pace{most: burst, tokens: burst, filled: time.Now()} }

// wait returns when a request may be sent, or with the error of ctx.
func (p *pace) wait(ctx context.Context, u urgency) error {
	return httpapi.Wait(ctx, func() (time.Duration, error) { return p.take(u), nil })
}

// isHeld reports whether requests are held back.
func (p *pace) isHeld() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.held) > 0
}

// take takes a token and returns 0; or it returns how long to wait before another try.
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
	// A little more, so that rounding doesn't make it wait again.
	return time.Duration((need-p.tokens)/perSecond*float64(time.Second)) + time.Millisecond
}

// observe holds requests back if an answer says that there are too many.
func (p *pace) observe(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if resp.StatusCode != http.StatusTooManyRequests {
		p.hold = 0
		if left, ok := remaining(resp.Header); ok && left == 0 {
			p.holdFor(remainingTime(resp.Header))
		}
		return
	}
	p.tokens /= 2
	p.hold = max(firstHold, min(2*p.hold, longestHold))
	after := p.hold
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if t := remainingTime(resp.Header); t > 0 {
		after = t
	}
	p.holdFor(after)
}

func (p *pace) holdFor(d time.Duration) {
	if until := time.Now().Add(d); d <= longestHold && until.After(p.held) {
		p.held = until
	}
}

// The header Ratelimit says how many requests are left (r), and for how many seconds (t):
// "default";r=50;t=30.
var (
	remainingCount   = regexp.MustCompile(`;\s*r=(\d{1,9})\b`)
	remainingSeconds = regexp.MustCompile(`;\s*t=(\d{1,9})\b`)
)

func remaining(h http.Header) (n int, ok bool) { return number(remainingCount, h) }

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
