package controllers

import (
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// flipFigures are what the flips at one rate showed, in milliseconds.
type flipFigures struct{ cpu, p50, p99 float64 }

func flipCPU(f flipFigures) float64 { return f.cpu }

func flipP50(f flipFigures) float64 { return f.p50 }

func flipP99(f flipFigures) float64 { return f.p99 }

// flipper changes the readiness of pods.
type flipper struct {
	*run
	process *measure.Process
	board   *board
}

func (run *run) newFlipper(p *measure.Process, b *board) *flipper {
	return &flipper{run: run, process: p, board: b}
}

// measure flips pods for flipFor, each another one, half of them to unready and
// half of them back. Those that are to come back are made unready before, and
// all are ready in the end.
func (f *flipper) measure(ctx context.Context, rate int) (flipFigures, error) {
	n := f.choice.Scaled(rate*int(flipFor/time.Second), 2*rate) / 2
	pods := rand.Perm(f.PodCount())[:2*n]
	back, out := pods[:n], pods[n:]
	if err := f.flipAll(ctx, back, false); err != nil {
		return flipFigures{}, err
	}
	if _, err := measure.UntilIdle(ctx, f.process); err != nil {
		return flipFigures{}, err
	}
	idle, err := f.process.CpuOf(func() error { return measure.Pause(ctx, measure.IdleWindow) })
	if err != nil {
		return flipFigures{}, err
	}
	f.board.takeLatencies()
	begun := time.Now()
	busy, err := f.process.CpuOf(func() error { return f.flipAtRate(ctx, rate, back, out) })
	if err != nil {
		return flipFigures{}, err
	}
	busy -= time.Duration(float64(idle) * float64(time.Since(begun)) / float64(measure.IdleWindow))
	latencies := f.board.takeLatencies()
	figures := flipFigures{
		cpu: busy.Seconds() * 1000 / float64(2*n),
		p50: measure.Quantile(latencies, .5),
		p99: measure.Quantile(latencies, .99),
	}
	return figures, f.flipAll(ctx, out, true)
}

// flipAtRate flips pods at a steady rate, whether or not the objects keep up, and
// waits until they show all of it.
func (f *flipper) flipAtRate(ctx context.Context, rate int, back, out []int) error {
	g, gctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i := range 2 * len(back) {
		if err := measure.Pause(gctx, time.Until(begun.Add(time.Duration(i)*time.Second/time.Duration(rate)))); err != nil {
			break // g.Wait returns the reason
		}
		pod, ready := out[i/2], false
		if i%2 == 1 {
			pod, ready = back[i/2], true
		}
		g.Go(func() error { return f.flip(gctx, pod, ready) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return await(ctx, f.process, []*board{f.board}, (*board).isCurrent)
}

// flipAll flips pods as fast as it goes, and waits until the objects show it.
func (f *flipper) flipAll(ctx context.Context, pods []int, ready bool) error {
	err := measure.ForEach(ctx, len(pods), func(ctx context.Context, i int) error { return f.flip(ctx, pods[i], ready) })
	if err != nil {
		return err
	}
	return await(ctx, f.process, []*board{f.board}, (*board).isCurrent)
}

func (f *flipper) flip(ctx context.Context, pod int, ready bool) error {
	f.board.expect(f.serviceKey(f.serviceOf(pod)), flip{workload.PodIP(pod).String(), ready, time.Now()})
	condition := corev1.ConditionFalse
	if ready {
		condition = corev1.ConditionTrue
	}
	return f.SetReady(ctx, f.client, pod, condition)
}
