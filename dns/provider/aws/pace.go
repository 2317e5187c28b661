package aws

import (
	"context"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/pause"
)

// Route 53 answers five requests a second of an account (Developer Guide, DNSLimitations). Some
// are left for other programs.
const (
	usualRate  = 4.5
	lowestRate = 0.5
	// recovery is by how much the rate rises with each request that is answered.
	recovery = 0.05
)

// urgency says who goes first when requests have to wait.
type urgency int

const (
	reading urgency = iota
	writing
)

// pace spaces the requests of one account. Those that write go before those that read. The rate
// is halved when Route 53 says that there are too many, and rises again slowly.
type pace struct {
	most float64

	mu   sync.Mutex
	rate float64
	// next is when the next request may be sent.
	next time.Time
	// writers is how many requests that write are waiting.
	writers int
}

func newPace(most float64) *pace { return &pace{most: most, rate: most} }

// wait returns when a request may be sent, or with the error of ctx.
func (p *pace) wait(ctx context.Context, u urgency) error {
	if u == writing {
		p.mu.Lock()
		p.writers++
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			p.writers--
			p.mu.Unlock()
		}()
	}
	for {
		delay := p.take(u)
		if delay <= 0 {
			return ctx.Err()
		}
		if err := pause.For(ctx, delay); err != nil {
			return err
		}
	}
}

// take takes the next place, and returns 0; or it returns how long to wait before another try.
func (p *pace) take(u urgency) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	gap := time.Duration(float64(time.Second) / p.rate)
	if delay := p.next.Sub(now); delay > 0 {
		return delay
	}
	if u == reading && p.writers > 0 {
		return gap
	}
	p.next = now.Add(gap)
	return 0
}

// throttled halves the rate.
func (p *pace) throttled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = max(p.rate/2, lowestRate)
}

// answered raises the rate, up to the usual one.
func (p *pace) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = min(p.rate+recovery, p.most)
}
