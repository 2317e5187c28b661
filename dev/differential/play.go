package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/signpostd/signpost/internal/pause"
)

const (
	pollEvery = 50 * time.Millisecond
	// standstill is how long nothing may have changed, on an idle machine, before a difference counts as one:
	// the controllers of Kubernetes put some changes off by a second.
	standstill = 3 * time.Second
	// settleWithin bounds the wait for a standstill.
	settleWithin = 30 * time.Second
)

// player plays sequences into both clusters. It may play several at the same time.
type player struct {
	kubernetes, signpost *side
	calm                 time.Duration
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

// tally is how many operations the API servers accepted, how many they refused, and how many had nothing to
// do.
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
		if err := run.judge(ctx, found); err != nil || run.out.failure != nil {
			return err
		}
	} else {
		run.out.equal++
	}
	return run.agree()
}

// agree notes what both clusters have, if it is the same.
func (run *performance) agree() error {
	found, err := run.compare()
	if err != nil || len(found) > 0 {
		return err
	}
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
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, s := range run.sides() {
		if fails(errs[i]) {
			return fmt.Errorf("%s in the cluster of %s: %w: run it again when the machine has less to do", o, s.name, errs[i])
		}
	}
	refused := [2]bool{refuses(errs[0]), refuses(errs[1])}
	switch {
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

// fails reports whether an operation came to nothing, or nobody knows, for a reason that isn't its own. A
// cluster then has something else than the other.
func fails(err error) bool {
	if !refuses(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code < 400 || code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests
}

func (run *performance) outputs() ([]output, error) {
	w, err := run.kubernetes.feed.clusterState(run.namespace)
	return w.outputs(), err
}

// compare compares what is there now.
func (run *performance) compare() ([]disagreement, error) {
	k, err := run.kubernetes.feed.clusterState(run.namespace)
	if err != nil {
		return nil, err
	}
	s, err := run.signpost.feed.clusterState(run.namespace)
	return compare(k.outputs(), s.outputs()), err
}

// standstill returns how long nothing may have changed before a difference counts as one.
func (p *player) standstill() time.Duration {
	return standstill + requestsOfWrite*max(p.kubernetes.pulse.slowest(), p.signpost.pulse.slowest())
}

// settle waits until both clusters are quiet and agree, or have stood still without agreeing, and returns how
// they disagree.
func (run *performance) settle(ctx context.Context) ([]disagreement, error) {
	deadline := time.Now().Add(settleWithin)
	for {
		quiet := min(run.kubernetes.feed.quietFor(run.namespace), run.signpost.feed.quietFor(run.namespace))
		if late := time.Now().After(deadline); quiet >= run.calm || late {
			found, err := run.compare()
			if err != nil || len(found) == 0 || quiet >= run.standstill() || late {
				return found, err
			}
		}
		if err := pause.For(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
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
