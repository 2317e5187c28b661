package awsaccess

import (
	"context"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/pause"
)

// Urgency says who goes first when requests have to wait.
type Urgency int

// The urgencies of requests: those that write go before those that read.
const (
	Reading Urgency = iota
	Writing
)

const (
	// lowest is the part of the usual rate that is left after many requests were too many, and
	// recovery that by which the rate rises with each request that is answered.
	lowest   = 1.0 / 9
	recovery = 1.0 / 90
)

// Pace spaces the requests of one account to one service. Those that write go before those that
// read. The rate is halved when the service says that there are too many, and rises again slowly.
// All methods may be called from any goroutine.
type Pace struct {
	most float64

	mu   sync.Mutex
	rate float64
	// next is when the next request may be sent.
	next time.Time
	// writers is how many requests that write are waiting.
	writers int
}

// NewPace returns a pace of so many requests a second.
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

// Answered raises the rate, up to the usual one.
func (p *Pace) Answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = min(p.rate+p.most*recovery, p.most)
}
