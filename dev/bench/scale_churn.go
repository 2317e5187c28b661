package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// churnProxies have the streams that listen to changes: a thousand of them.
	churnProxies = 100
	churnRate    = 200
	churnFor     = 10 * time.Minute
)

// churn changes endpoints of the Services that a mesh listens to, one Service after the other.
type churn struct {
	cluster *simulatedCluster
	mesh    *mesh
	// rate is how many changes there are in a second.
	rate int
	// made is how many changes were made, and flips how many of each stream's Service.
	made  int
	flips []int
	// late is how many changes came before the stream had heard of the change before, which
	// they undo: then there is nothing more to hear.
	late int
}

func newChurn(k *simulatedCluster, m *mesh, rate int) *churn {
	return &churn{cluster: k, mesh: m, rate: rate, flips: make([]int, len(m.streams))}
}

// play makes changes for a time. A change is that of a pod and that of its slice, as the kubelet
// and the controller of slices write them. It stops early when the context ends.
func (ch *churn) play(ctx context.Context, d time.Duration) error {
	begun, before := time.Now(), ch.made
	for time.Since(begun) < d && ctx.Err() == nil {
		due := begun.Add(time.Duration(ch.made-before) * time.Second / time.Duration(ch.rate))
		if err := pause(ctx, time.Until(due)); err != nil {
			return nil // the end was asked for
		}
		if err := ch.next(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (ch *churn) next(ctx context.Context) error {
	i := ch.made % len(ch.mesh.streams)
	s := ch.mesh.streams[i]
	e := edited{flips: ch.flips[i] | 1}
	pod := s.service*ch.cluster.pods + e.unready(ch.cluster.pods)
	s.mu.Lock()
	if s.changed.IsZero() {
		s.changed = time.Now()
	} else {
		s.changed = time.Time{}
		ch.late++
	}
	s.mu.Unlock()
	ch.made++
	ch.flips[i]++
	return ch.cluster.change(ctx, changes{Heartbeats: []int{pod}, Slices: []int{s.service}})
}

// heardAll waits until all streams know what they should, and returns the number of streams that
// don't at the end of the limit.
func (ch *churn) heardAll(ctx context.Context, limit time.Duration) (inexact int) {
	return ch.mesh.settle(ctx, limit, ch.exact)
}

// results are what streams heard of changes.
type results struct {
	latencies []time.Duration // sorted
	// excess is how many more updates a stream had than changes, of all streams together.
	excess int
}

// take returns what the streams heard since the last call, and forgets it.
func (ch *churn) take() results {
	all := results{latencies: ch.heard()}
	for i, s := range ch.mesh.streams {
		s.mu.Lock()
		all.excess += max(0, s.updates-ch.flips[i])
		s.mu.Unlock()
	}
	return all
}

// heard returns how long changes took since the last call, sorted, and forgets it. Changes may go on meanwhile.
func (ch *churn) heard() []time.Duration {
	var all []time.Duration
	for _, s := range ch.mesh.streams {
		s.mu.Lock()
		all = append(all, s.latencies...)
		s.latencies = nil
		s.mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// exact reports whether a stream knows the ready endpoints of its Service and no others.
func (ch *churn) exact(i int, s *meshStream) bool {
	unready := edited{flips: ch.flips[i]}.unready(ch.cluster.pods)
	return s.exact(func(pod int) bool { return pod != unready })
}

// measureScaledChurn measures changes for ten minutes.
func measureScaledChurn(ctx context.Context, r *report, c choice) error {
	run, err := startLarge(ctx, c)
	if err != nil {
		return err
	}
	defer run.stop()
	k := run.cluster
	m := &mesh{simulated: k.simulated, addr: run.server.addr, proxies: min(c.scaled(churnProxies, 10), k.services/streamsPerProxy)}
	defer m.close()
	if err := m.open(ctx, 5*time.Second); err != nil {
		return err
	}
	ch := newChurn(k, m, churnRate)
	// A minute of warming up makes the memory that of a server that works.
	if err := ch.play(ctx, c.share(time.Minute)); err != nil {
		return err
	}
	ch.heardAll(ctx, 20*time.Second)
	ch.take()
	ch.late = 0
	before, err := heapAfterGC(ctx)
	if err != nil {
		return err
	}
	warm, err := run.server.usage()
	if err != nil {
		return err
	}
	samples := sampleMemory(ctx, run.server.process, c.share(10*time.Second))
	made := ch.made
	if err := ch.play(ctx, c.share(churnFor)); err != nil {
		return err
	}
	inexact := ch.heardAll(ctx, 20*time.Second)
	memory := samples()
	after, err := run.server.usage()
	if err != nil {
		return err
	}
	heap, err := heapAfterGC(ctx)
	if err != nil {
		return err
	}
	churnReport{ch, ch.take(), ch.made - made, inexact, after.cpu - warm.cpu, memory, [2]float64{before, heap}}.print(r, c)
	return nil
}

// share returns the share of a duration that was asked for.
func (c choice) share(d time.Duration) time.Duration {
	return max(200*time.Millisecond, time.Duration(min(c.scale, 1)*float64(d)))
}

type churnReport struct {
	*churn
	results
	made, inexact int
	cpu           time.Duration
	memory        []float64
	heap          [2]float64 // before and after
}

func (c churnReport) print(r *report, chosen choice) {
	r.titleBeside("", "%s; %d changes a second for %s, %d streams on as many Services", c.cluster.simulated, c.rate, chosen.share(churnFor), len(c.mesh.streams))
	r.atMost("p50 from the change to the stream", "ms", quantile(c.latencies, .5), 15)
	r.atMost("p99", "ms", quantile(c.latencies, .99), 150)
	r.atMost("max", "ms", quantile(c.latencies, 1), 1000)
	r.none("streams that ended", int(c.mesh.ended.Load()), failures(c.mesh))
	r.none("streams that don't know in the end what they should", c.inexact, fmt.Sprint(c.inexact))
	r.none("changes undone before their stream heard of them", c.late, fmt.Sprint(c.late))
	r.none("updates beyond one for each change", c.excess, fmt.Sprint(c.excess))
	r.check("live heap, before and after", c.heap[1]/c.heap[0], 0, 1.05, fmt.Sprintf("%.1f and %.1f MiB", c.heap[0]/mebibyte, c.heap[1]/mebibyte))
	per, mean := slope(c.memory)
	r.note("%d changes, %d heard; %.0f µs of CPU for each; memory %.0f MiB, from the first sample to the last %+.1f MiB by linear regression",
		c.made, len(c.latencies), float64(c.cpu.Microseconds())/float64(max(1, c.made)), mean/mebibyte, per*float64(len(c.memory)-1)/mebibyte)
}

// sampleMemory reads the memory of a process again and again. The function that it returns ends
// that, and returns what was read.
func sampleMemory(ctx context.Context, p *process, each time.Duration) func() []float64 {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []float64)
	go func() {
		var all []float64
		for {
			if u, err := p.usage(); err == nil {
				all = append(all, u.rss)
			}
			if pause(ctx, each) != nil {
				done <- all
				return
			}
		}
	}()
	return func() []float64 {
		cancel()
		return <-done
	}
}

// slope returns how much a value grows from one sample to the next, by linear regression, and
// the mean of all.
func slope(values []float64) (per, mean float64) {
	n := float64(len(values))
	if n < 2 {
		return 0, 0
	}
	var sum, products, squares float64
	for i, v := range values {
		x := float64(i) - (n-1)/2
		sum += v
		products += x * v
		squares += x * x
	}
	return products / squares, sum / n
}
