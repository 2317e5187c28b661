package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/internal/pause"
)

const aliveEvery = time.Second

// run starts the clusters, plays all sequences and reports.
func run(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "signpost-differential-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var p player
	p.calm = s.calm
	err = p.start(ctx, dir)
	defer p.stop()
	if err != nil {
		return err
	}
	go p.care(ctx, cancel)
	for _, s := range p.sides() {
		go func() {
			if err := s.keepPulse(ctx); err != nil {
				cancel(err)
			}
		}()
	}
	r := newReport(os.Stdout, s)
	if err := playAll(ctx, &p, s, r); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	return r.end()
}

// start starts both clusters side by side.
func (p *player) start(ctx context.Context, dir string) error {
	var g errgroup.Group
	for name, into := range map[string]**side{kubernetesSide: &p.kubernetes, signpost: &p.signpost} {
		g.Go(func() error {
			s, err := startSide(ctx, dir, name)
			*into = s
			return err
		})
	}
	return g.Wait()
}

func (p *player) stop() {
	for _, s := range p.sides() {
		if s != nil {
			s.Stop()
		}
	}
}

// care ends everything when a process of a cluster ends.
func (p *player) care(ctx context.Context, end context.CancelCauseFunc) {
	for pause.For(ctx, aliveEvery) == nil {
		if err := p.both((*side).Alive); err != nil {
			end(err)
		}
	}
}

// playAll plays sequences side by side until there are enough steps. One that fails ends early.
func playAll(ctx context.Context, p *player, s settings, r *report) error {
	seed := s.seed
	for left := s.steps; left > 0; left = s.steps - r.played() {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(s.parallel)
		for ; left > 0; left -= stepsPerSequence {
			this, steps := seed, min(left, stepsPerSequence)
			g.Go(func() error { return playSeed(ctx, p, this, steps, r) })
			seed++
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func playSeed(ctx context.Context, p *player, seed uint64, steps int, r *report) error {
	sequence := drawSequence(seed, steps)
	out, err := p.play(ctx, fmt.Sprintf("seed-%d", seed), sequence)
	if err != nil {
		return fmt.Errorf("play seed %d: %w", seed, err)
	}
	r.sequence(seed, sequence, out)
	return nil
}
