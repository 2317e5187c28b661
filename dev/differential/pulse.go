package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	pulseEvery = 500 * time.Millisecond
	// pulseFor is how long a slow beat counts.
	pulseFor = 10 * time.Second
	// requestsOfWrite is how many requests one after another it may take until a change has led to all writes.
	requestsOfWrite = 4
)

// pulse knows how long requests take in a cluster: on a busy machine, controllers that stand still
// may only be waiting. Its methods may be called from any goroutine.
type pulse struct {
	mu    sync.Mutex
	beats []request
}

// request is timed; its end is zero while it is under way.
type request struct{ begun, ended time.Time }

// measure notes how long something takes.
func (p *pulse) measure(do func() error) error {
	begun := time.Now()
	p.mu.Lock()
	for len(p.beats) > 0 && begun.Sub(p.beats[0].ended) > pulseFor {
		p.beats = p.beats[1:]
	}
	p.beats = append(p.beats, request{begun: begun})
	p.mu.Unlock()
	err := do()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beats[len(p.beats)-1].ended = time.Now()
	return err
}

// slowest returns how long the slowest beat of late took, or takes so far.
func (p *pulse) slowest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var slowest time.Duration
	for _, b := range p.beats {
		switch {
		case b.ended.IsZero():
			slowest = max(slowest, time.Since(b.begun))
		case time.Since(b.ended) <= pulseFor:
			slowest = max(slowest, b.ended.Sub(b.begun))
		}
	}
	return slowest
}

// keepPulse keeps the nodes of a cluster alive and measures its pulse until the context ends.
func (s *side) keepPulse(ctx context.Context) error {
	for n := 0; ; n++ {
		err := s.pulse.measure(func() error { return s.beatOnce(ctx, n) })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("measure how fast the cluster of %s is: %w", s.name, err)
		}
		if pause.For(ctx, pulseEvery) != nil {
			return nil
		}
	}
}

// beatOnce writes the heartbeat of a node, and asks Signpost whether it is ready where it runs.
func (s *side) beatOnce(ctx context.Context, n int) error {
	if err := beat(ctx, s.client, nodeName(n%len(zones))); err != nil {
		return err
	}
	if s.admin == "" {
		return nil
	}
	return clienttest.Ready(ctx, s.admin)
}
