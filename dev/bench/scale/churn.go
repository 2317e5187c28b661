package scale

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

const (
	// churnProxies have the streams that listen to changes: a thousand of them.
	churnProxies = 100
	churnRate    = 200
	churnFor     = 10 * time.Minute
)

// churn changes endpoints of the Services that a mesh listens to, one Service after the other.
type churn struct {
	cluster *simulation.Cluster
	mesh    *mesh.Mesh
	// rate is how many changes there are in a second.
	rate int
	// made is how many changes were made, and flips how many of each stream's Service.
	made  int
	flips []int
	// late is how many changes came before the stream had heard of the change before, which
	// they undo: then there is nothing more to hear.
	late int
}

func newChurn(k *simulation.Cluster, m *mesh.Mesh, rate int) *churn {
	return &churn{cluster: k, mesh: m, rate: rate, flips: make([]int, len(m.Streams))}
}

// play makes changes for a time. A change is that of a pod and that of its slice, as the kubelet
// and the controller of slices write them. It stops early when the context ends.
func (ch *churn) play(ctx context.Context, d time.Duration) error {
	begun, before := time.Now(), ch.made
	for time.Since(begun) < d && ctx.Err() == nil {
		due := begun.Add(time.Duration(ch.made-before) * time.Second / time.Duration(ch.rate))
		if err := measure.Pause(ctx, time.Until(due)); err != nil {
			return nil // the end was asked for
		}
		if err := ch.next(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (ch *churn) next(ctx context.Context) error {
	i := ch.made % len(ch.mesh.Streams)
	s := ch.mesh.Streams[i]
	e := simulation.Edited{Flips: ch.flips[i] | 1}
	pod := s.Service*ch.cluster.Pods + e.Unready(ch.cluster.Pods)
	s.Mu.Lock()
	if s.Changed.IsZero() {
		s.Changed = time.Now()
	} else {
		s.Changed = time.Time{}
		ch.late++
	}
	s.Mu.Unlock()
	ch.made++
	ch.flips[i]++
	return ch.cluster.Change(ctx, simulation.Changes{Heartbeats: []int{pod}, Slices: []int{s.Service}})
}

// heardAll waits until all streams know what they should, and returns the number of streams that
// don't at the end of the limit.
func (ch *churn) heardAll(ctx context.Context, limit time.Duration) (inexact int) {
	return ch.mesh.Settle(ctx, limit, ch.exact)
}

// results are what streams received.
type results struct {
	latencies []time.Duration // sorted
	// excess is how many more updates a stream had than changes, of all streams together.
	excess int
}

// take returns what the streams received since the last call, and resets it.
func (ch *churn) take() results {
	all := results{latencies: ch.takeLatencies()}
	for i, s := range ch.mesh.Streams {
		s.Mu.Lock()
		all.excess += max(0, s.Updates-ch.flips[i])
		s.Mu.Unlock()
	}
	return all
}

// takeLatencies returns how long changes took since the last call, sorted, and resets it. Changes may
// continue.
func (ch *churn) takeLatencies() []time.Duration {
	var all []time.Duration
	for _, s := range ch.mesh.Streams {
		s.Mu.Lock()
		all = append(all, s.Latencies...)
		s.Latencies = nil
		s.Mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// exact reports whether a stream knows the ready endpoints of its Service and no others.
func (ch *churn) exact(i int, s *mesh.Stream) bool {
	unready := simulation.Edited{Flips: ch.flips[i]}.Unready(ch.cluster.Pods)
	return s.Exact(func(pod int) bool { return pod != unready })
}

// measureChurn measures changes for ten minutes.
func measureChurn(ctx context.Context, r *measure.Report, c measure.Options) error {
	run, err := startLarge(ctx, c)
	if err != nil {
		return err
	}
	defer run.stop()
	k := run.cluster
	m := &mesh.Mesh{Size: k.Size, Addr: run.server.Addr, Proxies: min(c.Scaled(churnProxies, 10), k.Services/mesh.StreamsPerProxy)}
	defer m.Close()
	if err := m.Open(ctx, 5*time.Second); err != nil {
		return err
	}
	ch := newChurn(k, m, churnRate)
	// A minute of warming up makes the memory that of a server that works.
	if err := ch.play(ctx, c.Share(time.Minute)); err != nil {
		return err
	}
	ch.heardAll(ctx, 20*time.Second)
	ch.take()
	ch.late = 0
	before, err := measure.HeapAfterGC(ctx)
	if err != nil {
		return err
	}
	warm, err := run.server.Usage()
	if err != nil {
		return err
	}
	samples := sampleMemory(ctx, run.server.Process, c.Share(10*time.Second))
	made := ch.made
	if err := ch.play(ctx, c.Share(churnFor)); err != nil {
		return err
	}
	inexact := ch.heardAll(ctx, 20*time.Second)
	memory := samples()
	after, err := run.server.Usage()
	if err != nil {
		return err
	}
	heap, err := measure.HeapAfterGC(ctx)
	if err != nil {
		return err
	}
	churnReport{ch, ch.take(), ch.made - made, inexact, after.Cpu - warm.Cpu, memory, [2]float64{before, heap}}.print(r, c)
	return nil
}

type churnReport struct {
	*churn
	results
	made, inexact int
	cpu           time.Duration
	memory        []float64
	heap          [2]float64 // before and after
}

func (c churnReport) print(r *measure.Report, chosen measure.Options) {
	r.TitleBeside("", "%s; %d changes a second for %s, %d streams on as many Services", c.cluster.Size, c.rate, chosen.Share(churnFor), len(c.mesh.Streams))
	r.AtMost("p50 from the change to the stream", "ms", measure.Quantile(c.latencies, .5), 15)
	r.AtMost("p99", "ms", measure.Quantile(c.latencies, .99), 150)
	r.AtMost("max", "ms", measure.Quantile(c.latencies, 1), 1000)
	r.None("streams that ended", int(c.mesh.Ended.Load()), mesh.Failures(c.mesh))
	r.None("streams that don't know in the end what they should", c.inexact, fmt.Sprint(c.inexact))
	r.None("changes undone before their stream heard of them", c.late, fmt.Sprint(c.late))
	r.None("updates beyond one for each change", c.excess, fmt.Sprint(c.excess))
	r.Check("live heap, before and after", c.heap[1]/c.heap[0], 0, 1.05, fmt.Sprintf("%.1f and %.1f MiB", c.heap[0]/measure.Mebibyte, c.heap[1]/measure.Mebibyte))
	per, mean := slope(c.memory)
	r.Note("%d changes, %d heard; %.0f µs of CPU for each; memory %.0f MiB, from the first sample to the last %+.1f MiB by linear regression",
		c.made, len(c.latencies), float64(c.cpu.Microseconds())/float64(max(1, c.made)), mean/measure.Mebibyte, per*float64(len(c.memory)-1)/measure.Mebibyte)
}

// sampleMemory reads the memory of a process again and again. The function that it returns ends
// that, and returns what was read.
func sampleMemory(ctx context.Context, p *measure.Process, each time.Duration) func() []float64 {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []float64)
	go func() {
		var all []float64
		for {
			if u, err := p.Usage(); err == nil {
				all = append(all, u.Rss)
			}
			if measure.Pause(ctx, each) != nil {
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
