package streams

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

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
	idle, err := s.Usage()
	if err != nil {
		return fanned{}, err
	}
	all, err := workload.Open(ctx, s.Addr, c.streams, c.endpoints)
	if err != nil {
		return fanned{}, err
	}
	defer all.Close()
	subscribed, err := s.Usage()
	if err != nil {
		return fanned{}, err
	}
	if err := measure.Pause(ctx, time.Second); err != nil {
		return fanned{}, err
	}
	settled, err := s.Usage()
	if err != nil {
		return fanned{}, err
	}
	before := all.Messages.Load()
	t := &workload.Toggler{Client: k.Client, Endpoints: c.endpoints}
	for range updates {
		if err := all.Update(ctx, t, c.streams); err != nil {
			return fanned{}, err
		}
		if err := measure.Pause(ctx, 100*time.Millisecond); err != nil {
			return fanned{}, err
		}
	}
	end, err := s.Usage()
	if err != nil {
		return fanned{}, err
	}
	latencies := all.Latencies()
	return fanned{
		setupCPU:    (subscribed.Cpu - idle.Cpu).Seconds(),
		perUpdate:   float64((end.Cpu - settled.Cpu).Microseconds()) / float64(all.Messages.Load()-before),
		kBPerStream: (settled.Rss - idle.Rss) / 1024 / float64(c.streams),
		p50:         measure.Quantile(latencies, .5),
		p99:         measure.Quantile(latencies, .99),
	}, nil
}
