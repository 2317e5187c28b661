package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		if err := For(ctx, time.Second); err != nil || time.Since(begun) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if err := For(ctx, 0); err != nil || time.Since(begun) != time.Second {
			t.Errorf("nothing to wait for: %v after %v", err, time.Since(begun))
		}
		if err := For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v, want the end of the context", err, time.Since(begun))
		}
		if err := For(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after the end of the context", err)
		}
	})
}
