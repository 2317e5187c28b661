package failover

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
)

const (
	failoverHandovers = 50
	// handoverLate is how long a new leader is watched after everything is right, for writes that nothing
	// asked for.
	handoverLate = 500 * time.Millisecond
)

// measureHandovers hands the Lease over by SIGTERM, again and again. After each handover one pod changes,
// which is one write of one slice; whatever is written beyond that is the handover's.
func (f *failover) measureHandovers(ctx context.Context, r *measure.Report) error {
	if err := f.start(ctx, shortLease); err != nil {
		return err
	}
	handovers, before := f.choice.Scaled(failoverHandovers, 3), f.objectWrites()
	var took []time.Duration
	for i := range handovers {
		t, err := f.handOver(ctx, i%f.PodCount())
		if err != nil {
			return fmt.Errorf("handover %d: %w", i+1, err)
		}
		took = append(took, t)
	}
	more := f.objectWrites() - before - handovers
	slices.Sort(took)
	fmt.Fprintf(r.Out, "\n%d handovers by SIGTERM, lease of %s, one change of a pod after each\n", handovers, shortLease.duration)
	r.None("writes of slices beyond one for each change", more, fmt.Sprint(more))
	r.Note("from SIGTERM to the change in its slice: p50 %.2f s, worst %.2f s", measure.Quantile(took, .5)/1000, took[len(took)-1].Seconds())
	f.checkFence(r)
	f.stop()
	return nil
}

// handOver ends the leader, waits for the other replica to lead, and changes a pod. It returns how long it
// took from SIGTERM until the slice has the change, and starts the replica that it ended.
func (f *failover) handOver(ctx context.Context, pod int) (time.Duration, error) {
	old := f.leader()
	next := f.other(old)
	if err := f.await(ctx, failoverSettle, next.proxy.standsBy); err != nil {
		return 0, fmt.Errorf("wait for the standby: %w", err)
	}
	e := old.terminate()
	if err := old.reap(); err != nil {
		return 0, err
	}
	leads := func() bool { return next.proxy.lastElected().After(e.at) }
	if err := measure.Poll(ctx, shortLease.duration+failoverSettle, leads); err != nil {
		return 0, fmt.Errorf("wait for the next leader: %w", err)
	}
	for f.states[pod].absent { // since leaders were killed
		pod = (pod + 1) % f.PodCount()
	}
	if err := f.SetReady(ctx, f.client, pod, f.states[pod].toggle()); err != nil {
		return 0, err
	}
	if err := f.settle(ctx); err != nil {
		return 0, err
	}
	took := time.Since(e.at)
	if err := measure.Pause(ctx, handoverLate); err != nil {
		return 0, err
	}
	return took, old.start(ctx, shortLease)
}

// objectWrites is how many writes of objects both replicas have begun.
func (f *failover) objectWrites() int {
	return f.replicas[0].proxy.objectWrites() + f.replicas[1].proxy.objectWrites()
}
