package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// slopeEvents is how many events of a kind are measured in each round, slopeBatch how many
	// of them come at once, and slopeRate how many in a second.
	slopeEvents = 20_000
	slopeBatch  = 40
	slopeRate   = 2000
	slopeRounds = 3
	// slopeStreams is how many proxies listen, whatever the size of the cluster.
	slopeProxies = 10
)

// slopeKinds are the events whose cost is measured.
var slopeKinds = []struct {
	name string
	of   func([]int) changes
}{
	{"a status of a pod of which nothing is kept", func(n []int) changes { return changes{Heartbeats: n} }},
	{"a label of a pod", func(n []int) changes { return changes{Labels: n} }},
	{"an endpoint of a slice", func(n []int) changes { return changes{Slices: n} }},
}

// measureScaledSlope measures what an event costs in clusters of three sizes.
func measureScaledSlope(ctx context.Context, r *report, c choice) error {
	sizes := []int{c.scaled(100, 10), c.scaled(1000, 20), c.scaled(10_000, 40)}
	costs := make([][]float64, len(slopeKinds)) // by kind and size
	for _, services := range sizes {
		k, err := startSimulated(ctx, simulated{services, scaledPodsPerService})
		if err != nil {
			return err
		}
		at, err := measureCosts(ctx, k, c)
		k.stop()
		if err != nil {
			return fmt.Errorf("%d Services: %w", services, err)
		}
		for i := range slopeKinds {
			costs[i] = append(costs[i], at[i])
		}
	}
	r.titleBeside(fmt.Sprint(sizes[0]*scaledPodsPerService), "CPU for an event in clusters of %d, %d and %d pods, medians of %d rounds of %d, %d a second",
		sizes[0]*scaledPodsPerService, sizes[1]*scaledPodsPerService, sizes[2]*scaledPodsPerService, slopeRounds, c.scaled(slopeEvents, 200), slopeRate)
	for i, kind := range slopeKinds {
		for j, services := range sizes[1:] {
			limit := 0.
			if j == 1 {
				limit = 1.25
			}
			r.ratio(fmt.Sprintf("%s, of %d pods", kind.name, services*scaledPodsPerService), "µs", figures{costs[i][0], costs[i][j+1], limit})
		}
	}
	return nil
}

// measureCosts returns the CPU time of an event of each kind, in µs, without that of idling.
func measureCosts(ctx context.Context, k *simulatedCluster, c choice) ([]float64, error) {
	run, err := startScaled(ctx, k)
	if err != nil {
		return nil, err
	}
	defer run.server.stop()
	m := &mesh{simulated: k.simulated, addr: run.server.addr, proxies: min(slopeProxies, k.services/streamsPerProxy)}
	defer m.close()
	if err := m.open(ctx, time.Second); err != nil {
		return nil, err
	}
	if err := run.quiet(ctx); err != nil {
		return nil, err
	}
	costs := make([]float64, len(slopeKinds))
	for i, kind := range slopeKinds {
		var rounds []float64
		for range slopeRounds {
			cost, err := run.cost(ctx, c.scaled(slopeEvents, 200), kind.of)
			if err != nil {
				return nil, err
			}
			rounds = append(rounds, cost)
		}
		costs[i] = median(rounds, func(v float64) float64 { return v })
	}
	return costs, nil
}

// cost returns the CPU time of one of n events, in µs.
func (run *scaledRun) cost(ctx context.Context, n int, of func([]int) changes) (float64, error) {
	before, err := run.server.usage()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	for sent := 0; sent < n; {
		if err := pause(ctx, time.Until(begun.Add(time.Duration(sent)*time.Second/slopeRate))); err != nil {
			return 0, err
		}
		numbers := make([]int, min(slopeBatch, n-sent))
		for i := range numbers {
			// Far from each other, and each Service as often as any other.
			numbers[i] = (sent + i) * 7919 % run.cluster.services
		}
		if err := run.cluster.change(ctx, of(numbers)); err != nil {
			return 0, err
		}
		sent += len(numbers)
	}
	if err := run.quiet(ctx); err != nil {
		return 0, err
	}
	after, err := run.server.usage()
	return float64((after.cpu - before.cpu).Nanoseconds()) / 1000 / float64(n), err
}

// quiet waits until the server has nothing to do.
func (run *scaledRun) quiet(ctx context.Context) error {
	last, err := run.server.usage()
	for err == nil {
		if err = pause(ctx, 250*time.Millisecond); err != nil {
			break
		}
		var now usage
		if now, err = run.server.usage(); err == nil && now.cpu-last.cpu < 5*time.Millisecond {
			break
		}
		last = now
	}
	return err
}
