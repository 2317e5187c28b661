package network

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// fault is a fault that is active until over is closed.
type fault[F any] struct {
	what F
	over chan struct{}
}

// faults are the active faults, in the order in which they began.
type faults[F any] struct {
	mu  sync.Mutex
	all []*fault[F] // replaced, never changed
}

func (s *faults[F]) begin(what F) *fault[F] {
	f := &fault[F]{what, make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.Clone(s.all), f)
	return f
}

// end ends a fault, unless it has ended.
func (s *faults[F]) end(f *fault[F]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.all, f)
	if i < 0 {
		return
	}
	s.all = slices.Delete(slices.Clone(s.all), i, i+1)
	close(f.over)
}

func (s *faults[F]) endAll() {
	for _, f := range s.now() {
		s.end(f)
	}
}

func (s *faults[F]) now() []*fault[F] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// wait returns after d, or when one of the channels is closed.
func wait(d time.Duration, over, done <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
	case <-done:
	}
}

// jittered returns a time between latency−jitter and latency+jitter.
func jittered(latency, jitter time.Duration) time.Duration {
	if jitter <= 0 {
		return latency
	}
	return latency - jitter + rand.N(2*jitter+1)
}

// dice hits at random with the probability share. The sequence depends on the seed only.
type dice struct {
	share float64

	mu     sync.Mutex
	random *rand.Rand
}

func newDice(share float64, seed uint64) *dice {
	return &dice{share: share, random: rand.New(rand.NewPCG(seed, 0))}
}

// hit reports whether the dice hit; nil never does.
func (d *dice) hit() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64() < d.share
}
