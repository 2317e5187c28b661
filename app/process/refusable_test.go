package process

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/leader"
)

// A leader whose writes all get 401 releases the Lease after two minutes, and after a longer time
// whenever it has the Lease again and still can't write.
func TestC8LeaderThatCannotWriteGivesTheLeaseAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // for what follows
		var health reconcile.Health
		var began, written time.Time
		r := refusable{
			lead: func(ctx context.Context) error {
				mu.Lock()
				began, health = time.Now(), reconcile.Health{}
				mu.Unlock()
				<-ctx.Done()
				return nil
			},
			health: func() reconcile.Health {
				mu.Lock()
				defer mu.Unlock()
				now := time.Now()
				health.RefusedSince, health.RefusedLast, health.Refused = began, now.Add(-time.Second), apierrors.NewUnauthorized("token is expired")
				if !written.IsZero() {
					health.LastWrite = written
				}
				return health
			},
		}
		for _, minutes := range []time.Duration{2, 4, 8, 16, 32, 32} {
			start := time.Now()
			err := r.run(t.Context())
			var down *leader.StandDown
			if !errors.As(err, &down) || down.For != standDown || !strings.Contains(err.Error(), "token is expired") {
				t.Fatalf("the term ended with %v, want that another process should try", err)
			}
			if took := time.Since(start); took != minutes*time.Minute {
				t.Errorf("the term took %v, want %v", took, minutes*time.Minute)
			}
		}
		// While a write succeeds now and then, nothing happens, and the time is counted anew.
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range 60 {
				time.Sleep(time.Minute)
				mu.Lock()
				written = time.Now()
				mu.Unlock()
			}
			time.Sleep(time.Second)
			cancel()
		}()
		if err := r.run(ctx); err != nil {
			t.Errorf("the term ended with %v", err)
		}
		if r.limit != 0 {
			t.Errorf("all writes may be refused for %v before the Lease is given away", r.limit)
		}
	})
}

// /ready has the failing writes of the leader.
func TestC8ReadySaysThatWritesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if lines := writesOf(reconcile.Health{}); len(lines) > 0 {
			t.Errorf("lines are %q, want none", lines)
		}
		begun := time.Now()
		time.Sleep(time.Minute)
		got := strings.Join(writesOf(reconcile.Health{
			RefusedSince: begun, RefusedLast: time.Now(), Refused: errors.New("token is expired"), Waiting: 3, WaitingSince: begun,
		}), "\n")
		const want = "writes: 3 Services wait, the oldest for 1m0s\nwrites: all refused for 1m0s: token is expired"
		if got != want {
			t.Errorf("lines are %q, want %q", got, want)
		}
	})
}
