// Package streams measures streams of the Destination API for one Service with many endpoints.
//
// fanout.go and profiles.go compare Signpost with a floor (floor.go): a gRPC server that does the
// least that is possible. stall.go measures streams that don't read, and rollout.go a rollout.
// inspect.go measures what an open page of the inspection API costs the streams.
package streams

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// Benches returns the benches of streams of the Destination API, and of what a history and an open page cost
// them.
func Benches() []measure.Bench {
	return []measure.Bench{
		{
			Name: "fanout", Shows: "CPU, memory and latency of updates to 1,000 and 5,000 streams of Get",
			Must: "CPU ≤ 1.2 × and p99 ≤ 1.3 × of the floor, ≤ 11.5 kB a stream", Run: measureFanout,
		},
		{
			Name: "stall", Shows: "what streams that don't read cost the others and the server", Run: measureStall,
			Halves: []measure.Half{
				{Name: "some", Shows: "1 and 100 of 1,000 streams don't read", Must: "p99 of the others + 2 ms or 5 %, ≤ 256 kB a stream"},
				{Name: "all", Shows: "all but one don't read", Must: "memory + 64 MiB, exact within 5 s"},
			},
		},
		{
			Name: "rollout", Shows: "250 endpoints are replaced within 10 s, under 2,000 streams",
			Must: "no endpoint is missing, last update ≤ 500 ms", Run: measureRollout,
		},
		{
			Name: "profiles", Shows: "2,000 GetProfile streams within a second, five times",
			Must: "CPU ≤ 2 × of the floor, p99 of updates ≤ 1.2 ×", Run: measureProfiles,
		},
		{
			Name: "inspect", Shows: "the inspection API and an open page beside 10,000 streams",
			Must: "lists ≤ 200 ms, p99 of updates ≤ 1.3 ×", Run: measureInspect,
		},
		{Name: "history", Shows: "what a history costs the fan-out", Must: "CPU per update ≤ 1.02 ×", Run: measureHistory},
	}
}

// updates is how many changes are measured per server.
const updates = 100

// fanoutCase is one shape of the fan-out, with what it must reach.
type fanoutCase struct {
	streams, endpoints        int
	setup, perUpdate, p99, kB float64
}

var fanoutCases = []fanoutCase{
	{streams: 1000, endpoints: 1000, setup: 1.2, perUpdate: 1.2, p99: 1.3, kB: 11.5},
	{streams: 5000, endpoints: 100, kB: 11.5},
}

// fanned is what one server spent on a case.
type fanned struct {
	setupCPU, perUpdate, kBPerStream, p50, p99 float64
}

// measureFanout measures the table "What the fan-out must cost" of ARCHITECTURE.md.
func measureFanout(ctx context.Context, r *measure.Report, _ measure.Options) error {
	for _, c := range fanoutCases {
		if err := measureFanoutCase(ctx, r, c); err != nil {
			return err
		}
	}
	return nil
}

func measureFanoutCase(ctx context.Context, r *measure.Report, c fanoutCase) error {
	k, err := workload.StartLoadedCluster(ctx, time.Second, c.endpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
	var all [2][]fanned
	for range measure.Rounds {
		for i, startServer := range []func(context.Context, *measure.Cluster) (*measure.Server, error){startFloor, workload.StartSignpost} {
			f, err := measureServer(ctx, k, c, startServer)
			if err != nil {
				return err
			}
			all[i] = append(all[i], f)
		}
	}
	figure := func(name, unit string, limit float64, of func(fanned) float64) {
		r.Ratio(name, unit, measure.Figures{Base: measure.Median(all[0], of), Signpost: measure.Median(all[1], of), Limit: limit})
	}
	r.Title("%d streams, %d endpoints, %d changes of one pod, medians of %d", c.streams, c.endpoints, updates, measure.Rounds)
	figure("CPU to give every stream its first answer", "s", c.setup, func(f fanned) float64 { return f.setupCPU })
	figure("CPU per delivered update", "µs", c.perUpdate, func(f fanned) float64 { return f.perUpdate })
	figure("p50 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p50 })
	figure("p99 from API write to a stream", "ms", c.p99, func(f fanned) float64 { return f.p99 })
	memory := func(f fanned) float64 { return f.kBPerStream }
	figure("memory per stream", "kB", 0, memory)
	r.AtMost("memory per stream", "kB", measure.Median(all[1], memory), c.kB)
	return nil
}

func startFloor(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
	p, err := measure.StartSelf(ctx, k.Dir, 0, "floor", "--addr", measure.FloorAddr, "--kubeconfig", k.Kubeconfig)
	return &measure.Server{Process: p, Addr: measure.FloorAddr}, err
}

func measureServer(ctx context.Context, k *measure.Cluster, c fanoutCase, startServer func(context.Context, *measure.Cluster) (*measure.Server, error)) (fanned, error) {
	s, err := startServer(ctx, k)
	if err != nil {
		return fanned{}, err
	}
	defer s.Stop()
	// One stream first: whatever the server does only once is done then.
	one, err := workload.Open(ctx, s.Addr, 1, c.endpoints)
	if err != nil {
		return fanned{}, err
	}
	one.Close()
	if err := measure.Pause(ctx, 2*time.Second); err != nil {
		return fanned{}, err
	}
	return fan(ctx, k, s, c)
}

func fan(ctx context.Context, k *measure.Cluster, s *measure.Server, c fanoutCase) (fanned, error) {
	var all *workload.Clients
	var before int64
	used, err := s.FanOut(ctx, func() (err error) {
		all, err = workload.Open(ctx, s.Addr, c.streams, c.endpoints)
		return err
	}, func() error {
		before = all.Messages.Load()
		return changes(ctx, all, &workload.Toggler{Client: k.Client, Endpoints: c.endpoints}, updates)
	})
	if all != nil {
		defer all.Close()
	}
	if err != nil {
		return fanned{}, err
	}
	latencies := all.Latencies()
	return fanned{
		setupCPU:    used.Setup.Seconds(),
		perUpdate:   float64(used.Changes.Microseconds()) / float64(all.Messages.Load()-before),
		kBPerStream: used.Memory / 1024 / float64(c.streams),
		p50:         measure.Quantile(latencies, .5),
		p99:         measure.Quantile(latencies, .99),
	}, nil
}

// changes makes changes of one pod, each of which all streams hear of before the next one.
func changes(ctx context.Context, all *workload.Clients, t *workload.Toggler, n int) error {
	for range n {
		if err := all.Update(ctx, t, len(all.Streams)); err != nil {
			return err
		}
		if err := measure.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// historyRounds is how often the server is measured with and without a history, in turns. The limit is close
// to what differs by chance, so there are more rounds than elsewhere.
const historyRounds = 7

// measureHistory measures what it costs the fan-out to keep a history: the same server with the default and
// with --history-bytes=0, in turns.
func measureHistory(ctx context.Context, r *measure.Report, c measure.Options) error {
	load := fanoutCase{streams: c.Scaled(1000, 20), endpoints: c.Scaled(1000, 20)}
	k, err := workload.StartLoadedCluster(ctx, time.Second, load.endpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
	var all [2][]fanned
	for round := range historyRounds {
		for i := range all {
			// Which one comes first alternates, because the API server grows.
			which := (i + round) % len(all)
			f, err := measureServer(ctx, k, load, startWithHistory(which == 1))
			if err != nil {
				return err
			}
			all[which] = append(all[which], f)
		}
	}
	figure := func(name, unit string, limit float64, of func(fanned) float64) {
		r.Ratio(name, unit, measure.Figures{Base: measure.Median(all[0], of), Signpost: measure.Median(all[1], of), Limit: limit})
	}
	r.TitleBeside("no history", "%d streams, %d endpoints, %d changes of one pod, without and with a history, medians of %d", load.streams, load.endpoints, updates, historyRounds)
	figure("CPU per delivered update", "µs", 1.02, func(f fanned) float64 { return f.perUpdate })
	figure("p50 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p50 })
	figure("p99 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p99 })
	return nil
}

// startWithHistory starts Signpost with the default history, or with none.
func startWithHistory(history bool) func(context.Context, *measure.Cluster) (*measure.Server, error) {
	return func(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
		var more []string
		if !history {
			more = append(more, "-history-bytes=0")
		}
		return measure.StartDestinationWith(ctx, k.Dir, k.Kubeconfig, more)
	}
}
