package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/internal/pause"
)

// patience is how much longer is waited for a disagreement to go by itself, if nothing explains one that
// lasts. Signpost puts off repairs of what was deleted for up to five seconds, and the controllers of
// Kubernetes put off what they can't write yet for longer and longer.
const patience = 30 * time.Second

// judge finds out how long disagreements last and who ends them, and what explains them. Those that last are
// removed with their Service, so that what follows can be compared again.
func (run *performance) judge(ctx context.Context, found []disagreement) error {
	cases, err := run.outwait(ctx, nil, found, late)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(cases, circumstances.isLasting) {
		if cases, err = run.touchAll(ctx, cases); err != nil {
			return err
		}
	}
	for _, c := range cases {
		r, ok := explain(c)
		if !ok {
			run.out.failure = &failure{name: c.looksLike(), detail: c.disagreement.String(), cause: &c}
			return nil
		}
		run.out.explained[r.name]++
	}
	for _, c := range cases {
		if c.lasts == forGood || c.lasts == sinceTouched {
			if err := run.remove(ctx, c.service); err != nil {
				return err
			}
		}
	}
	return nil
}

// outwait waits until no disagreement is left that nothing would explain. New disagreements become cases. For
// each case that ends, it notes how: earlier ones with the given duration, new ones by themselves.
func (run *performance) outwait(ctx context.Context, cases []circumstances, found []disagreement, how duration) ([]circumstances, error) {
	before := len(cases)
	for begun := time.Now(); ; {
		for _, d := range found {
			if hasLasting(cases, d.key()) {
				continue
			}
			c, err := run.circumstances(d)
			if err != nil {
				return nil, err
			}
			cases = append(cases, c)
		}
		if !hasUnexplained(cases, found, how) || time.Since(begun) > patience {
			break
		}
		if err := pause.For(ctx, pollEvery); err != nil {
			return nil, err
		}
		var err error
		if found, err = run.compare(); err != nil {
			return nil, err
		}
	}
	now, err := run.clusterStates()
	conclude(cases[:before], found, now, how)
	conclude(cases[before:], found, now, late)
	return cases, err
}

func hasLasting(cases []circumstances, key [2]string) bool {
	return slices.ContainsFunc(cases, func(c circumstances) bool { return c.isLasting() && c.key() == key })
}

// hasUnexplained reports whether there still is a disagreement without a reason. Before Services are touched,
// it may have one that depends on that.
func hasUnexplained(cases []circumstances, found []disagreement, how duration) bool {
	ends := []duration{forGood}
	if how == late {
		ends = append(ends, untilTouched)
	}
	return slices.ContainsFunc(cases, func(c circumstances) bool {
		return c.isLasting() && lasts(found, c.key()) && !c.isExplained(ends...)
	})
}

// touchAll touches all Services, after which controllers look at them again, and returns the circumstances
// with what came of it.
func (run *performance) touchAll(ctx context.Context, cases []circumstances) ([]circumstances, error) {
	run.touched++
	for _, name := range serviceNames {
		if err := run.operate(ctx, touch{onService{name}, run.touched}); err != nil {
			return nil, err
		}
	}
	found, err := run.settle(ctx)
	if err != nil {
		return nil, err
	}
	before := len(cases)
	cases, err = run.outwait(ctx, cases, found, untilTouched)
	for i := before; i < len(cases); i++ {
		if cases[i].isLasting() {
			cases[i].lasts = sinceTouched
		}
	}
	return cases, err
}

// circumstances adds to a disagreement what is known about it. It counts as one that lasts.
func (run *performance) circumstances(d disagreement) (circumstances, error) {
	now, err := run.clusterStates()
	return circumstances{disagreement: d, lasts: forGood, played: run.played, agreed: run.agreed, clusterStates: now}, err
}

func (run *performance) clusterStates() (clusterStates, error) {
	k, err := run.kubernetes.feed.clusterState(run.namespace)
	if err != nil {
		return clusterStates{}, err
	}
	s, err := run.signpost.feed.clusterState(run.namespace)
	return clusterStates{k, s}, err
}

// conclude notes how disagreements have ended that are gone, and in which clusters something changed until
// then.
func conclude(cases []circumstances, found []disagreement, now clusterStates, how duration) {
	for i := range cases {
		c := &cases[i]
		if c.isLasting() && !lasts(found, c.key()) {
			c.lasts = how
			c.kubernetesMoved = !sameOf(c.key(), c.inKubernetes, now.inKubernetes)
			c.signpostMoved = !sameOf(c.key(), c.inSignpost, now.inSignpost)
		}
	}
}

func (c circumstances) isLasting() bool { return c.lasts == forGood }

// isExplained reports whether there is a reason if the disagreement lasts as long as one of these says.
func (c circumstances) isExplained(durations ...duration) bool {
	return slices.ContainsFunc(durations, func(d duration) bool {
		c.lasts = d
		_, ok := explain(c)
		return ok
	})
}

// sameOf reports whether two clusterStates have the same outputs of a kind for a Service.
func sameOf(key [2]string, a, b clusterState) bool { return maps.Equal(a.texts(key), b.texts(key)) }

// texts counts the outputs of a kind for a Service by their texts.
func (w clusterState) texts(key [2]string) map[string]int {
	count := map[string]int{}
	for _, o := range w.outputs() {
		if o.kind == key[0] && o.service == key[1] {
			count[o.text()]++
		}
	}
	return count
}
