package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// visitTime is how long one visit may hold the loop. Whoever has more to look at comes again.
const visitTime = time.Millisecond

// ErrNotRunning is the error of inspections of a publisher that doesn't run any more.
var ErrNotRunning = errors.New("the publisher does not run any more")

// ErrNotLeading is the error of inspections of what only the publisher that leads knows.
var ErrNotLeading = errors.New("this process does not lead, so it reads no zones")

// visit calls a function in the loop, which owns all that inspections look at.
func (p *Publisher) visit(ctx context.Context, look func()) error {
	done := make(chan struct{})
	f := func() {
		defer close(done)
		look()
	}
	select {
	case p.visits <- f:
		// The loop has it, and calls it.
		<-done
		return nil
	case <-p.over:
		return ErrNotRunning
	case <-ctx.Done():
		return fmt.Errorf("ask the publisher: it has not answered: %w", ctx.Err())
	}
}

// visitAll calls a function in the loop again and again until it reports that there is nothing left
// to look at. Within one visit it is called for as long as [visitTime].
func (p *Publisher) visitAll(ctx context.Context, look func() (more bool)) error {
	for more := true; more; {
		err := p.visit(ctx, func() {
			for begun := time.Now(); more && time.Since(begun) < visitTime; {
				more = look()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
