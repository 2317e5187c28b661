package httpapi

import (
	"context"
	"time"

	"github.com/signpostd/signpost/internal/pause"
)

// Wait returns when delay returns zero. After any other delay it waits that long and asks again, because
// requests that wait at the same time may have used the next slot. It ends with the error of delay or ctx.
func Wait(ctx context.Context, delay func() (time.Duration, error)) error {
	for {
		d, err := delay()
		if err != nil {
			return err
		}
		if err := pause.For(ctx, d); err != nil || d <= 0 {
			return err
		}
	}
}
