package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/tally"
)

const (
	kills = 3
	// killDrain is shorter than drain: the pods of before are gone soon, and then each second without a
	// leader counts.
	killDrain = time.Second
	// calm is how long no connection must fail before the standby counts as having taken over.
	calm = 5 * time.Second
	// firstAnswer is a row of the table.
	firstAnswer = "from ready to the first connection"
)

// rollout replaces 8 pods, one after the other, as a Deployment does with maxUnavailable 0.
func rollout(ctx context.Context, s *side, index int) (result tally.Result, err error) {
	st, err := s.createStage(ctx, index, corev1.IPv4Protocol)
	if err != nil {
		return result, err
	}
	old, err := st.begin(ctx, proxyNode, 4)
	if err != nil {
		return result, err
	}
	load := st.connections(corev1.IPv4Protocol, perSecond)
	r := replacement{stage: st, pods: old, drain: drain}
	err = r.replace(ctx, 8, func(int) error { return nil })
	if err == nil {
		err = clienttest.Pause(ctx, 2*time.Second)
	}
	outcomes := load.Stop()
	result.Count(outcomes)
	r.firstAnswers(&result, outcomes)
	return result, err
}

// replacement replaces the pods of a stage by others, the oldest first.
type replacement struct {
	*stage
	pods  []pod // those that serve, the oldest first
	drain time.Duration
	fresh []freshPod
}

// freshPod is a pod that took the place of another one.
type freshPod struct {
	pod
	ready time.Time
}

// replace replaces count pods. between runs when a new pod is ready, and before the old one is deleted.
func (r *replacement) replace(ctx context.Context, count int, between func(round int) error) error {
	for round := range count {
		n := len(r.fresh) + 101
		p := r.newPod(fmt.Sprintf("web-%d", n), proxyNode, n)
		if err := r.start(ctx, p, false); err != nil {
			return err
		}
		r.fresh = append(r.fresh, freshPod{p, time.Now()})
		if err := between(round); err != nil {
			return err
		}
		if err := r.terminate(ctx, r.pods[0]); err != nil {
			return err
		}
		if err := clienttest.Pause(ctx, r.drain); err != nil {
			return err
		}
		if err := r.end(ctx, r.pods[0]); err != nil {
			return err
		}
		r.pods = append(r.pods[1:], p)
	}
	return nil
}

// firstAnswers adds how long after its readiness each new pod answered for the first time, at each of its
// addresses.
func (r *replacement) firstAnswers(result *tally.Result, outcomes tally.Outcomes) {
	for _, p := range r.fresh {
		for _, address := range p.addresses {
			if first, ok := outcomes.First(address.String()); ok {
				result.Took(firstAnswer, first.Sub(p.ready))
			} else {
				result.Never(firstAnswer)
			}
		}
	}
}

// leaderKilled kills the leader with SIGKILL in the middle of a rollout, several times.
func leaderKilled(ctx context.Context, s *side, index int) (result tally.Result, err error) {
	for i := range kills {
		if err := s.killOnce(ctx, index+i, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}

func (s *side) killOnce(ctx context.Context, index int, result *tally.Result) error {
	st, err := s.createStage(ctx, index, corev1.IPv4Protocol)
	if err != nil {
		return err
	}
	old, err := st.begin(ctx, proxyNode, 4)
	if err != nil {
		return err
	}
	load := st.connections(corev1.IPv4Protocol, perSecond)
	defer func() { result.Count(load.Stop()) }()
	var killed time.Time
	r := replacement{stage: st, pods: old, drain: killDrain}
	err = r.replace(ctx, 6, func(round int) (err error) {
		if round == 1 {
			killed, err = s.killLeader(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.awaitLeader(ctx); err != nil {
		return err
	}
	result.Took("from the kill to another leader", time.Since(killed))
	err = st.awaitServed(ctx, corev1.IPv4Protocol, r.pods...)
	took(result, "from the kill to connections to all new pods", killed, err)
	if err != nil {
		return err
	}
	return s.Await(ctx, "no connection fails any more", func() bool {
		last, failed := load.Outcomes().LastFailure()
		return !failed || time.Since(last) > calm
	})
}
