package streams

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// A rollout: every endpoint of a Service is replaced within ten seconds, some with each write, while many
// streams read. 250 endpoints are what Kubernetes documents as a large Service.
const (
	rolloutStreams   = 2000
	rolloutEndpoints = 250
	rolloutStep      = 10
	rolloutGap       = 400 * time.Millisecond
)

// measureRollout measures how soon a rollout has reached all streams, and whether one of them ever knew fewer
// endpoints than there were.
func measureRollout(ctx context.Context, r *measure.Report, _ measure.Options) error {
	k, err := measure.StartCluster(ctx, time.Second)
	if err != nil {
		return err
	}
	defer k.Stop()
	run := rollout{cluster: k}
	if err := run.prepare(ctx); err != nil {
		return err
	}
	s, err := workload.StartSignpost(ctx, k)
	if err != nil {
		return err
	}
	defer s.Stop()
	if run.all, err = workload.Open(ctx, s.Addr, rolloutStreams, rolloutEndpoints); err != nil {
		return err
	}
	defer run.all.Close()
	return run.measure(ctx, r)
}

type rollout struct {
	cluster *measure.Cluster
	all     *workload.Clients
}

// prepare makes the Service, the pods of both generations, and a slice of the old ones. One slice has them
// all, so that each write replaces endpoints in one step.
func (run rollout) prepare(ctx context.Context) error {
	l := workload.Loader{Client: run.cluster.Client}
	if err := l.Load(ctx, 2*rolloutEndpoints); err != nil {
		return err
	}
	slices := l.Client.DiscoveryV1().EndpointSlices(workload.Namespace)
	if err := slices.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete the slices: %w", err)
	}
	if _, err := slices.Create(ctx, run.slice(0), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the slice: %w", err)
	}
	return nil
}

// slice returns the slice after so many endpoints were replaced, the oldest first.
func (run rollout) slice(replaced int) *discoveryv1.EndpointSlice {
	s := workload.Slice(replaced, replaced+rolloutEndpoints)
	s.Name = workload.Service
	return s
}

func (run rollout) measure(ctx context.Context, r *measure.Report) error {
	for _, s := range run.all.Streams {
		s.KeepExact(0, rolloutEndpoints)
	}
	tick := time.NewTicker(rolloutGap)
	defer tick.Stop()
	var written time.Time
	for replaced := rolloutStep; replaced <= rolloutEndpoints; replaced += rolloutStep {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if _, err := run.cluster.Client.DiscoveryV1().EndpointSlices(workload.Namespace).Update(ctx, run.slice(replaced), metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update the slice: %w", err)
		}
		written = time.Now()
	}
	exact := func() (n int) {
		for _, s := range run.all.Streams {
			if s.Knows(2*rolloutEndpoints-1, rolloutEndpoints) {
				n++
			}
		}
		return n
	}
	if err := measure.Poll(ctx, 20*time.Second, func() bool { return exact() == rolloutStreams }); err != nil {
		return fmt.Errorf("%d of %d streams know exactly the new endpoints: %w", exact(), rolloutStreams, err)
	}
	fmt.Fprintf(r.Out, "\n%d endpoints of a Service are replaced within %s, %d streams\n", rolloutEndpoints, rolloutEndpoints/rolloutStep*rolloutGap, rolloutStreams)
	least, last := rolloutEndpoints, time.Time{}
	for _, s := range run.all.Streams {
		s.Mu.Lock()
		least = min(least, s.Least)
		if s.Last.After(last) {
			last = s.Last
		}
		s.Mu.Unlock()
	}
	r.None("endpoints that a stream lacked at its worst moment", rolloutEndpoints-least, fmt.Sprintf("%d of %d", rolloutEndpoints-least, rolloutEndpoints))
	r.AtMost("last update after the last write", "ms", float64(last.Sub(written).Milliseconds()), 500)
	r.None("streams ended", int(run.all.Ended.Load()), fmt.Sprintf("%d of %d", run.all.Ended.Load(), rolloutStreams))
	return nil
}
