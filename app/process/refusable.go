package process

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/leader"
)

const (
	// refusedLimit is how long every write of the leader may be refused before it gives the Lease
	// away. It doubles each time, up to refusedLongest, until a write succeeds: if the others can't
	// write either, passing the Lease around helps nobody.
	refusedLimit, refusedLongest = 2 * time.Minute, 32 * time.Minute
	// standDown is how long the process doesn't campaign then, which is enough for a standby to
	// take the Lease.
	standDown = 30 * time.Second
	// refusedLook is how often the leader looks at how its writes go.
	refusedLook = 5 * time.Second
)

// refusable is work under a Lease that ends when every write is refused: this process may be the
// only one that can't write, for example because of its credentials.
type refusable struct {
	lead   func(context.Context) error
	health func() reconcile.Health
	// limit is how long every write may be refused; zero for refusedLimit.
	limit time.Duration
}

// run works for one term. It returns a [leader.StandDown] when every write is refused for too long.
func (r *refusable) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcome := make(chan error, 1)
	go func() { outcome <- r.lead(ctx) }()
	look := time.NewTicker(refusedLook)
	defer look.Stop()
	for {
		select {
		case err := <-outcome:
			return err
		case <-look.C:
		}
		health := r.health()
		if health.LastWrite.After(health.RefusedLast) {
			r.limit = 0
		}
		limit := max(r.limit, refusedLimit)
		if !health.AllRefused(limit) {
			continue
		}
		r.limit = min(2*limit, refusedLongest)
		cancel()
		<-outcome
		return &leader.StandDown{For: standDown, Reason: fmt.Errorf("every write has been refused for %v: %w", limit, health.Refused)}
	}
}

// writesOf says, for /ready, what is wrong with the writes of the controllers. It doesn't make the
// process unready: nobody reaches it by a Service, and what else it does goes on.
func writesOf(health reconcile.Health) []string {
	var lines []string
	if health.Waiting > 0 {
		lines = append(lines, fmt.Sprintf("writes: %d Services wait, the oldest for %v", health.Waiting, health.Waits().Round(time.Second)))
	}
	if health.RefusedLast.After(health.LastWrite) {
		lines = append(lines, fmt.Sprintf("writes: all refused for %v: %v", time.Since(health.RefusedSince).Round(time.Second), health.Refused))
	}
	return lines
}
