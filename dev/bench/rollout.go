package main

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
func measureRollout(ctx context.Context, r *report) error {
	k, err := startCluster(ctx, time.Second)
	if err != nil {
		return err
	}
	defer k.stop()
	run := rollout{cluster: k}
	if err := run.prepare(ctx); err != nil {
		return err
	}
	s, err := startSignpost(ctx, k)
	if err != nil {
		return err
	}
	defer s.stop()
	if run.all, err = open(ctx, s.addr, rolloutStreams, rolloutEndpoints); err != nil {
		return err
	}
	defer run.all.close()
	return run.measure(ctx, r)
}

type rollout struct {
	cluster *cluster
	all     *clients
}

// prepare makes the Service, the pods of both generations, and a slice of the old ones. One slice has them all, so that
// each write replaces endpoints in one step.
func (run rollout) prepare(ctx context.Context) error {
	l := loader{client: run.cluster.client}
	if err := l.load(ctx, 2*rolloutEndpoints); err != nil {
		return err
	}
	slices := l.client.DiscoveryV1().EndpointSlices(namespace)
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
	s := slice(replaced, replaced+rolloutEndpoints)
	s.Name = service
	return s
}

func (run rollout) measure(ctx context.Context, r *report) error {
	for _, s := range run.all.streams {
		s.keepExact(0, rolloutEndpoints)
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
		if _, err := run.cluster.client.DiscoveryV1().EndpointSlices(namespace).Update(ctx, run.slice(replaced), metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update the slice: %w", err)
		}
		written = time.Now()
	}
	exact := func() (n int) {
		for _, s := range run.all.streams {
			if s.knows(2*rolloutEndpoints-1, rolloutEndpoints) {
				n++
			}
		}
		return n
	}
	if err := poll(ctx, 20*time.Second, func() bool { return exact() == rolloutStreams }); err != nil {
		return fmt.Errorf("%d of %d streams know exactly the new endpoints: %w", exact(), rolloutStreams, err)
	}
	fmt.Fprintf(r.out, "\n%d endpoints of a Service are replaced within %s, %d streams\n", rolloutEndpoints, rolloutEndpoints/rolloutStep*rolloutGap, rolloutStreams)
	least, last := rolloutEndpoints, time.Time{}
	for _, s := range run.all.streams {
		s.mu.Lock()
		least = min(least, s.least)
		if s.last.After(last) {
			last = s.last
		}
		s.mu.Unlock()
	}
	r.none("endpoints that a stream lacked at its worst moment", rolloutEndpoints-least, fmt.Sprintf("%d of %d", rolloutEndpoints-least, rolloutEndpoints))
	r.atMost("last update after the last write", "ms", float64(last.Sub(written).Milliseconds()), 500)
	r.none("streams ended", int(run.all.ended.Load()), fmt.Sprintf("%d of %d", run.all.ended.Load(), rolloutStreams))
	return nil
}
