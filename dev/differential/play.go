package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	pollEvery = 50 * time.Millisecond
	// standstill is how long nothing may have changed before a difference counts as one: the controllers of
	// Kubernetes put some changes off by a second.
	standstill = 3 * time.Second
	// settleWithin bounds the wait for a standstill.
	settleWithin = 30 * time.Second
	// patience is how much longer is waited for a difference to go that nothing explains so far. Signpost puts off
	// repairs for up to a minute.
	patience = 70 * time.Second
)

// player plays sequences into both clusters. It may play several at the same time.
type player struct {
	kubernetes, signpost *side
	calm                 time.Duration
	// hurried players don't find out how long a disagreement lasts, once no duration would explain it.
	hurried bool
}

// outcome is what the play of a sequence showed.
type outcome struct {
	// equal is how many steps ended with the same outputs.
	equal int
	// compared is how many outputs were the same in both clusters, in all steps together.
	compared int
	// operations counts what became of operations.
	operations tally
	// explained is how often each reason explained a disagreement.
	explained map[string]int
	// failure is what ended the sequence; nil if nothing did.
	failure *failure
}

// tally is how many operations the API servers accepted, how many they refused, and how many had nothing to do.
type tally struct{ accepted, refused, skipped int }

// failure is something that no reason explains.
type failure struct {
	// name is what it looks like, in a few words.
	name string
	// step is the index of the step after which it was seen.
	step int
	// detail is what differs.
	detail string
	// cause is the disagreement; nil if it was another kind of failure.
	cause *circumstances
}

// isLike reports whether two failures are about the same.
func (f *failure) isLike(other *failure) bool {
	if f.cause == nil || other.cause == nil {
		return f.name == other.name
	}
	return f.cause.service == other.cause.service
}

// concerned reports whether an operation has to do with the failure.
func (f *failure) concerned(o operation) bool { return f.cause == nil || o.concerns(f.cause.service) }

// performance is one sequence that is being played.
type performance struct {
	*player
	namespace string
	played    []step
	agreed    []output // when both clusters last agreed
	touched   int
	out       outcome
}

// play plays a sequence in a new namespace. The error says why it couldn't be played.
func (p *player) play(ctx context.Context, namespace string, sequence []step) (outcome, error) {
	run := &performance{player: p, namespace: namespace, out: outcome{explained: map[string]int{}}}
	if err := p.both(func(s *side) error { return s.createNamespace(ctx, namespace) }); err != nil {
		return run.out, err
	}
	for _, s := range sequence {
		if err := run.step(ctx, s); err != nil {
			return run.out, err
		}
		if run.out.failure != nil {
			run.out.failure.step = len(run.played) - 1
			return run.out, nil
		}
	}
	return run.out, ctx.Err()
}

func (p *player) sides() [2]*side { return [2]*side{p.kubernetes, p.signpost} }

// both does something in both clusters at the same time.
func (p *player) both(do func(*side) error) error {
	var errs [2]error
	var wg sync.WaitGroup
	for i, s := range p.sides() {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// step plays one step and compares.
func (run *performance) step(ctx context.Context, s step) error {
	run.played = append(run.played, s)
	for _, o := range s {
		if err := run.operate(ctx, o); err != nil || run.out.failure != nil {
			return err
		}
	}
	found, err := run.settle(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return run.judge(ctx, found)
	}
	run.out.equal++
	run.agreed, err = run.outputs()
	run.out.compared += len(run.agreed)
	return err
}

// operate does one operation in both clusters. Both API servers must accept it, or both refuse it.
func (run *performance) operate(ctx context.Context, o operation) error {
	var errs [2]error
	var wg sync.WaitGroup
	for i, s := range run.sides() {
		wg.Go(func() {
			errs[i] = o.do(ctx, s.client, run.namespace)
			s.feed.mark(run.namespace)
		})
	}
	wg.Wait()
	refused := [2]bool{refuses(errs[0]), refuses(errs[1])}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refused[0] != refused[1]:
		run.out.failure = &failure{name: "one API server refuses", detail: fmt.Sprintf("%s: with Kubernetes: %v; with Signpost: %v", o, errs[0], errs[1])}
	case refused[0]:
		run.out.operations.refused++
	case errs[0] != nil:
		run.out.operations.skipped++
	default:
		run.out.operations.accepted++
	}
	return nil
}

// refuses reports whether the API server refused an operation.
func refuses(err error) bool { return err != nil && !errors.Is(err, errSkipped) }

func (run *performance) outputs() ([]output, error) {
	w, err := run.kubernetes.feed.world(run.namespace)
	return w.outputs(), err
}

// compare compares what is there now.
func (run *performance) compare() ([]disagreement, error) {
	k, err := run.kubernetes.feed.world(run.namespace)
	if err != nil {
		return nil, err
	}
	s, err := run.signpost.feed.world(run.namespace)
	return compare(k.outputs(), s.outputs()), err
}

// settle waits until both clusters are quiet and agree, or have stood still without agreeing, and returns how
// they disagree.
func (run *performance) settle(ctx context.Context) ([]disagreement, error) {
	deadline := time.Now().Add(settleWithin)
	for {
		quiet := min(run.kubernetes.feed.quietFor(run.namespace), run.signpost.feed.quietFor(run.namespace))
		if late := time.Now().After(deadline); quiet >= run.calm || late {
			found, err := run.compare()
			if err != nil || len(found) == 0 || quiet >= standstill || late {
				return found, err
			}
		}
		if err := pause(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

// judge finds out how long disagreements last, and what explains them. Those that last are removed with their
// Service, so that what follows can be compared again.
func (run *performance) judge(ctx context.Context, found []disagreement) error {
	cases, err := run.circumstances(found)
	if err != nil {
		return err
	}
	if run.hurried {
		run.judgeHurriedly(cases)
		return nil
	}
	lasting, err := run.lastingAfterTouch(ctx)
	if err != nil {
		return err
	}
	known := map[[2]string]bool{}
	for i := range cases {
		known[cases[i].key()] = true
		if lasts(lasting, cases[i].key()) {
			cases[i].lasts = forGood
		}
	}
	for _, d := range lasting {
		if !known[d.key()] {
			more, err := run.circumstances([]disagreement{d})
			if err != nil {
				return err
			}
			more[0].lasts = sinceTouched
			cases = append(cases, more...)
		}
	}
	for _, c := range cases {
		if err := run.explain(ctx, c); err != nil || run.out.failure != nil {
			return err
		}
	}
	for _, d := range lasting {
		if err := run.remove(ctx, d.service); err != nil {
			return err
		}
	}
	return nil
}

// judgeHurriedly touches nothing. It ends the sequence if a disagreement has no reason, however long it lasts.
func (run *performance) judgeHurriedly(cases []circumstances) {
	for _, c := range cases {
		known := false
		for _, c.lasts = range []duration{untilTouched, sinceTouched, forGood, late} {
			_, explained := explain(c)
			known = known || explained
		}
		if !known {
			run.out.failure = &failure{name: c.looksLike(), detail: c.disagreement.String(), cause: &c}
			return
		}
	}
}

// circumstances adds to disagreements what is known about them.
func (run *performance) circumstances(found []disagreement) ([]circumstances, error) {
	k, err := run.kubernetes.feed.world(run.namespace)
	if err != nil {
		return nil, err
	}
	s, err := run.signpost.feed.world(run.namespace)
	if err != nil {
		return nil, err
	}
	cases := make([]circumstances, 0, len(found))
	for _, d := range found {
		cases = append(cases, circumstances{disagreement: d, lasts: untilTouched, played: run.played, agreed: run.agreed, worlds: worlds{k, s}})
	}
	return cases, nil
}

// lastingAfterTouch touches all Services, and returns the disagreements that there are then.
func (run *performance) lastingAfterTouch(ctx context.Context) ([]disagreement, error) {
	run.touched++
	for _, name := range serviceNames {
		if err := run.operate(ctx, touch{onService{name}, run.touched}); err != nil {
			return nil, err
		}
	}
	return run.settle(ctx)
}

// explain counts the reason of a disagreement. Without one, it waits a while longer for the disagreement to go. If there
// is no reason even then, that ends the sequence.
func (run *performance) explain(ctx context.Context, c circumstances) error {
	r, ok := explain(c)
	if !ok && c.lasts != untilTouched {
		var err error
		if c.lasts, err = run.outlast(ctx, c); err != nil {
			return err
		}
		r, ok = explain(c)
	}
	if !ok {
		run.out.failure = &failure{name: c.looksLike(), detail: c.disagreement.String(), cause: &c}
		return nil
	}
	run.out.explained[r.name]++
	return nil
}

// outlast waits for a disagreement to go, and returns how long it lasts.
func (run *performance) outlast(ctx context.Context, c circumstances) (duration, error) {
	for begun := time.Now(); time.Since(begun) < patience; {
		found, err := run.compare()
		if err != nil {
			return c.lasts, err
		}
		if !lasts(found, c.key()) {
			return late, nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return c.lasts, err
		}
	}
	return c.lasts, nil
}

// remove removes a Service and what belongs to it.
func (run *performance) remove(ctx context.Context, service string) error {
	on := onService{service}
	for _, o := range []operation{deleteService{on}, deleteEndpoints{on}, deleteSlices{on}} {
		if err := run.operate(ctx, o); err != nil {
			return err
		}
	}
	_, err := run.settle(ctx)
	return err
}
