package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// visitTime limits how long one visit may block the loop. Longer inspections visit again.
const visitTime = time.Millisecond

// ErrNotRunning is the error of inspections after Run has ended.
var ErrNotRunning = errors.New("the publisher has stopped")

// ErrNotLeading is the error of inspections that need a publisher that leads.
var ErrNotLeading = errors.New("this process does not lead, so it reads no zones")

// visit calls a function in the loop, which owns all state.
func (p *Publisher) visit(ctx context.Context, inspect func()) error {
	done := make(chan struct{})
	f := func() {
		defer close(done)
		inspect()
	}
	select {
	case p.visits <- f:
		// The loop has received it and calls it.
		<-done
		return nil
	case <-p.stopped:
		return ErrNotRunning
	case <-ctx.Done():
		return fmt.Errorf("ask the publisher: it has not answered: %w", ctx.Err())
	}
}

// visitAll calls a function in the loop until it reports that nothing is left. Within one visit it
// is called for up to [visitTime].
func (p *Publisher) visitAll(ctx context.Context, inspect func() (more bool)) error {
	for more := true; more; {
		err := p.visit(ctx, func() {
			for begun := time.Now(); more && time.Since(begun) < visitTime; {
				more = inspect()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
