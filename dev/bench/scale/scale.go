// Package scale measures a Destination server in a large cluster: memory, start, idle streams, reconnect
// storms, and changes.
//
// The API server is simulated (package simulation), because filling etcd would take longer than all
// measurements. A run is one destination server beside it. The proxies of storms run in a process of their
// own with low priority, so that they don't take the CPU time of the server.
package scale

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

// The cluster that scale measures. It is simulated, because an etcd on this machine would take
// longer to fill than everything else takes.
const (
	scaledServices       = 10_000
	scaledPodsPerService = 10
)

// Benches returns the bench of a large cluster, which `bench apiserver` simulates.
func Benches() []measure.Bench {
	return []measure.Bench{{
		Name: "scale", Shows: "a simulated cluster of 10,000 Services with 100,000 pods",
		Halves: []measure.Half{
			{Name: "memory", Shows: "memory without streams", Must: "≤ 450 MiB, peak ≤ 1.5 ×, ≤ 25 % of the CPU for garbage", Run: measureMemory},
			{Name: "start", Shows: "from the start until ready", Must: "≤ 60 s", Run: measureStart},
			{Name: "streams", Shows: "20,000 idle streams", Must: "≤ 1,024 MiB, ≤ 40 KiB a stream", Run: measureStreams},
			{Name: "storm", Shows: "20,000 streams connect within 8 s, three times", Must: "≤ 10 s, none fails, p99 of the others ≤ 2 ×", Run: measureStorm},
			{Name: "reconnect", Shows: "5,000 streams connect within a second", Must: "≤ 5 s, memory ≤ 2 × and < 512 MiB", Run: measureReconnect},
			{Name: "churn", Shows: "200 changes a second for ten minutes", Must: "p50 ≤ 15 ms, p99 ≤ 150 ms, max ≤ 1 s", Run: measureChurn},
			{Name: "slope", Shows: "CPU of an event in clusters of three sizes", Must: "≤ 1.25 × of the smallest", Run: measureSlope},
		},
	}}
}

// sizeOf returns the cluster to measure, or the share of it that was asked for.
func sizeOf(c measure.Options) simulation.Size {
	return simulation.Size{Services: c.Scaled(scaledServices, 10), Pods: scaledPodsPerService}
}

// run is a destination server beside a simulated API server.
type run struct {
	cluster *simulation.Cluster
	server  *measure.Server
	// ready is how long the start took until the server was ready, and begun its CPU time until then.
	ready time.Duration
	begun measure.Usage
}

// startLarge starts the simulated API server of a large cluster, and a destination server beside it.
func startLarge(ctx context.Context, c measure.Options, env ...string) (*run, error) {
	k, err := simulation.Start(ctx, sizeOf(c))
	if err != nil {
		return nil, err
	}
	run, err := startBeside(ctx, k, env...)
	if err != nil {
		k.Stop()
		return nil, err
	}
	return run, nil
}

// stop ends both.
func (run *run) stop() {
	run.server.Stop()
	run.cluster.Stop()
}

// startBeside starts a destination server and waits until it is ready.
func startBeside(ctx context.Context, k *simulation.Cluster, env ...string) (*run, error) {
	begun := time.Now()
	s, err := measure.StartDestination(ctx, k.Dir, k.Kubeconfig, env...)
	if err != nil {
		return nil, err
	}
	run := &run{cluster: k, server: s}
	err = s.AwaitReady(ctx)
	run.ready = time.Since(begun)
	if err == nil {
		run.begun, err = s.Usage()
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return run, nil
}
