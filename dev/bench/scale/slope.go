package scale

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

const (
	// slopeEvents is how many events of a kind are measured in each round, slopeBatch how many
	// of them come at once, and slopeRate how many in a second.
	slopeEvents = 20_000
	slopeBatch  = 40
	slopeRate   = 2000
	slopeRounds = 3
	// slopeProxies is how many proxies listen, whatever the size of the cluster.
	slopeProxies = 10
)

// slopeKinds are the events whose cost is measured.
var slopeKinds = []struct {
	name string
	of   func([]int) simulation.Changes
}{
	{"a status of a pod of which nothing is kept", func(n []int) simulation.Changes { return simulation.Changes{Heartbeats: n} }},
	{"a label of a pod", func(n []int) simulation.Changes { return simulation.Changes{Labels: n} }},
	{"an endpoint of a slice", func(n []int) simulation.Changes { return simulation.Changes{Slices: n} }},
}

// measureSlope measures what an event costs in clusters of three sizes.
func measureSlope(ctx context.Context, r *measure.Report, c measure.Options) error {
	sizes := []int{c.Scaled(100, 10), c.Scaled(1000, 20), c.Scaled(10_000, 40)}
	costs := make([][]float64, len(slopeKinds)) // by kind and size
	for _, services := range sizes {
		k, err := simulation.Start(ctx, simulation.Size{Services: services, Pods: scaledPodsPerService})
		if err != nil {
			return err
		}
		at, err := measureCosts(ctx, k, c)
		k.Stop()
		if err != nil {
			return fmt.Errorf("%d Services: %w", services, err)
		}
		for i := range slopeKinds {
			costs[i] = append(costs[i], at[i])
		}
	}
	r.TitleBeside(fmt.Sprint(sizes[0]*scaledPodsPerService), "CPU for an event in clusters of %d, %d and %d pods, medians of %d rounds of %d, %d a second",
		sizes[0]*scaledPodsPerService, sizes[1]*scaledPodsPerService, sizes[2]*scaledPodsPerService, slopeRounds, c.Scaled(slopeEvents, 200), slopeRate)
	for i, kind := range slopeKinds {
		for j, services := range sizes[1:] {
			limit := 0.
			if j == 1 {
				limit = 1.25
			}
			r.Ratio(fmt.Sprintf("%s, of %d pods", kind.name, services*scaledPodsPerService), "µs", measure.Figures{Base: costs[i][0], Signpost: costs[i][j+1], Limit: limit})
		}
	}
	return nil
}

// measureCosts returns the CPU time of an event of each kind, in µs, without that of idling.
func measureCosts(ctx context.Context, k *simulation.Cluster, c measure.Options) ([]float64, error) {
	run, err := startBeside(ctx, k)
	if err != nil {
		return nil, err
	}
	defer run.server.Stop()
	m := &mesh.Mesh{Size: k.Size, Addr: run.server.Addr, Proxies: min(slopeProxies, k.Services/mesh.StreamsPerProxy)}
	defer m.Close()
	if err := m.Open(ctx, time.Second); err != nil {
		return nil, err
	}
	if err := run.quiet(ctx); err != nil {
		return nil, err
	}
	costs := make([]float64, len(slopeKinds))
	for i, kind := range slopeKinds {
		var rounds []float64
		for range slopeRounds {
			cost, err := run.cost(ctx, c.Scaled(slopeEvents, 200), kind.of)
			if err != nil {
				return nil, err
			}
			rounds = append(rounds, cost)
		}
		costs[i] = measure.Median(rounds, measure.Itself)
	}
	return costs, nil
}

// cost returns the CPU time of one of n events, in µs.
func (run *run) cost(ctx context.Context, n int, of func([]int) simulation.Changes) (float64, error) {
	used, err := run.server.CpuOf(func() error { return run.play(ctx, n, of) })
	return float64(used.Nanoseconds()) / 1000 / float64(n), err
}

// play makes n events, and waits until the server has nothing to do.
func (run *run) play(ctx context.Context, n int, of func([]int) simulation.Changes) error {
	begun := time.Now()
	for sent := 0; sent < n; {
		if err := measure.Pause(ctx, time.Until(begun.Add(time.Duration(sent)*time.Second/slopeRate))); err != nil {
			return err
		}
		numbers := make([]int, min(slopeBatch, n-sent))
		for i := range numbers {
			// Far from each other, and each Service as often as any other.
			numbers[i] = (sent + i) * 7919 % run.cluster.Services
		}
		if err := run.cluster.Change(ctx, of(numbers)); err != nil {
			return err
		}
		sent += len(numbers)
	}
	return run.quiet(ctx)
}

// quiet waits until the server has nothing to do.
func (run *run) quiet(ctx context.Context) error {
	last, err := run.server.Usage()
	for err == nil {
		if err = measure.Pause(ctx, 250*time.Millisecond); err != nil {
			break
		}
		var now measure.Usage
		if now, err = run.server.Usage(); err == nil && now.Cpu-last.Cpu < 5*time.Millisecond {
			break
		}
		last = now
	}
	return err
}
