package awsaccess

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// Urgency is the priority of a waiting request.
type Urgency int

// Priorities: writes go before reads.
const (
	Reading Urgency = iota
	Writing
)

const (
	// lowest is the minimum rate after throttling, and recovery the increase per successful request,
	// both as a part of the usual rate.
	lowest   = 1.0 / 9
	recovery = 1.0 / 90
)

// Pace limits the request rate of one account and service. Writes go before reads. The rate is
// halved when the service throttles, and rises again slowly. All methods may be called from any
// goroutine.
type Pace struct {
	most float64

	mu   sync.Mutex
	rate float64
	// next is when the next request may be sent.
	next time.Time
	// writers is the number of waiting writes.
	writers int
}

// SharedPace returns the limit of so many requests per second that the publishers of a process share for
// an account of a service. accountOf identifies the account.
func SharedPace(accounts *provider.Accounts, service string, most float64) *provider.Shared[*Pace] {
	return provider.NewShared(accounts, service, func() *Pace { return NewPace(most) })
}

// accountOf returns what identifies the account of credentials: its ID, or the access key if the ID is
// unknown, as with a static key.
func accountOf(c aws.Credentials) string { return cmp.Or(c.AccountID, c.AccessKeyID) }

// NewPace returns a limit of so many requests per second.
func NewPace(most float64) *Pace { return &Pace{most: most, rate: most} }

// Wait returns when a request may be sent, or with the error of ctx.
func (p *Pace) Wait(ctx context.Context, u Urgency) error {
	if u == Writing {
		p.mu.Lock()
		p.writers++
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			p.writers--
			p.mu.Unlock()
		}()
	}
	return httpapi.Wait(ctx, func() (time.Duration, error) { return p.take(u), nil })
}

// take reserves the next request and returns 0, or returns how long to wait before another try.
func (p *Pace) take(u Urgency) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	gap := time.Duration(float64(time.Second) / p.rate)
	if delay := p.next.Sub(now); delay > 0 {
		return delay
	}
	if u == Reading && p.writers > 0 {
		return gap
	}
	p.next = now.Add(gap)
	return 0
}

// Throttled halves the rate.
func (p *Pace) Throttled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = max(p.rate/2, p.most*lowest)
}

// Succeeded raises the rate, up to the usual one.
func (p *Pace) Succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = min(p.rate+p.most*recovery, p.most)
}
