package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/tally"
)

// dualStack replaces the pods of a Service with both families, takes its second family away, and gives it
// back.
func dualStack(ctx context.Context, s *side, index int) (result tally.Result, err error) {
	st, err := s.createStage(ctx, index, corev1.IPv4Protocol, corev1.IPv6Protocol)
	if err != nil {
		return result, err
	}
	old, err := st.begin(ctx, proxyNode, 4)
	if err != nil {
		return result, err
	}
	v4 := st.connections(corev1.IPv4Protocol, perSecond/2)
	v6 := st.connections(corev1.IPv6Protocol, perSecond/2)
	r := replacement{stage: st, pods: old, drain: drain}
	err = r.replace(ctx, 4, func(int) error { return nil })
	second := v6.Stop()
	if err == nil {
		err = r.oneFamilyAndBack(ctx, &result)
	}
	first := v4.Stop()
	result.Count(first)
	result.Count(second)
	return result, err
}

// oneFamilyAndBack measures how long IPv6 takes to serve again.
func (r *replacement) oneFamilyAndBack(ctx context.Context, result *tally.Result) error {
	if err := r.setFamilies(ctx, corev1.IPv4Protocol); err != nil {
		return err
	}
	if err := clienttest.Pause(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := r.setFamilies(ctx, corev1.IPv4Protocol, corev1.IPv6Protocol); err != nil {
		return err
	}
	back := time.Now()
	err := r.awaitServed(ctx, corev1.IPv6Protocol, r.pods...)
	took(result, "from the second family's return to connections to all pods", back, err)
	return err
}
