package process

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/leader"
)

const (
	// refusedLimit is how long every write of the leader may be refused before it releases the Lease.
	// It doubles each time, up to refusedLongest, until a write succeeds: if other processes can't
	// write either, passing the Lease around doesn't help.
	refusedLimit, refusedLongest = 2 * time.Minute, 32 * time.Minute
	// standDown is how long the process doesn't campaign after it has released the Lease, long
	// enough for a standby to take it.
	standDown = 30 * time.Second
	// refusedCheckInterval is how often the leader checks its writes.
	refusedCheckInterval = 5 * time.Second
)

// refusable is work under a Lease that ends if every write is refused, because this process may be
// the only one that can't write, for example because of its credentials.
type refusable struct {
	lead   func(context.Context) error
	health func() reconcile.Health
	// limit is how long every write may be refused; zero means refusedLimit.
	limit time.Duration
}

// run works for one term. If every write is refused for too long, it returns a [leader.StandDown].
func (r *refusable) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcome := make(chan error, 1)
	go func() { outcome <- r.lead(ctx) }()
	check := time.Tick(refusedCheckInterval)
	for {
		select {
		case err := <-outcome:
			return err
		case <-check:
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

// writesOf describes failing writes of the controllers, for /ready. They don't make the process
// unready, because no Service routes to it, and its other work continues.
func writesOf(health reconcile.Health) []string {
	var lines []string
	if health.Waiting > 0 {
		waiting := fmt.Sprintf("%d Services wait", health.Waiting)
		if health.Waiting == 1 {
			waiting = "1 Service waits"
		}
		lines = append(lines, fmt.Sprintf("writes: %s, the oldest for %v", waiting, health.Waits().Round(time.Second)))
	}
	if health.RefusedLast.After(health.LastWrite) {
		lines = append(lines, fmt.Sprintf("writes: all refused for %v: %v", time.Since(health.RefusedSince).Round(time.Second), health.Refused))
	}
	return lines
}
