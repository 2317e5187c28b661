package measure

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dev/clienttest"
)

// ForEach calls f with 0 to n-1, 16 calls at a time, until one fails.
func ForEach(ctx context.Context, n int, f func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// ErrTimeout is the cause of contexts that reach their time limit.
var ErrTimeout = errors.New("it took too long")

// Poll waits until the condition holds, looking often enough for latencies of
// milliseconds.
func Poll(ctx context.Context, limit time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// Pause waits, unless the context ends first.
func Pause(ctx context.Context, d time.Duration) error { return clienttest.Pause(ctx, d) }

// PollSlowly waits until the condition holds, for what takes seconds and shares the machine with what is
// measured.
func PollSlowly(ctx context.Context, limit time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	for !holds() {
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
