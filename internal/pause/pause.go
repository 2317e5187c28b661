// Package pause waits for a time, or until a context ends. All packages use it.
//
// # Concurrency
//
// [For] may be called from any goroutine.
package pause

import (
	"context"
	"time"
)

// For returns nil after d, or the error of ctx as soon as ctx ends.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
