// Package xds measures endpoints over xDS (ADS), beside go-control-plane and beside a floor.
//
// The three servers take turns in one run, with the same streams (streams.go) and the same changes. The floor
// (floor.go) encodes each change once and does nothing else. The other server is bin/gocontrolplane, which
// `make bench ONLY=xds` builds. Two more parts measure Signpost alone: the egress budget (budget.go), and a
// restart with many streams (restart.go).
package xds

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// goControlPlaneAddr is the address of the server in dev/gocontrolplane.
const goControlPlaneAddr = "127.0.0.1:18088"

// testCase is one shape of streams, with what it must reach beside go-control-plane and beside the floor.
type testCase struct {
	half                              string
	streams, endpoints, perConnection int
	// updates are how many changes are measured. pause is the time between two of them, so that none is
	// delayed by --xds-egress-budget.
	updates int
	pause   time.Duration
	// perUpdate, last and memory are the limits of ratios beside go-control-plane, floor that of the CPU
	// beside the floor.
	perUpdate, last, memory, floor float64
}

// From spec/xds.md case 54 to spec/xds.md case 56.
var testCases = []testCase{
	{"100", 1000, 100, 20, 50, 200 * time.Millisecond, 1. / 4, 1. / 3, 0.9, 0},
	{"1000", 1000, 1000, 20, 20, 600 * time.Millisecond, 1. / 10, 1. / 3, 0.9, 1.15},
	{"connections", 1000, 100, 1, 50, 200 * time.Millisecond, 0, 0, 0.9, 0},
}

// result is what one server spent on a case.
type result struct {
	setupCPU, perUpdate, kBPerStream, p99, last, bytes float64
}

// Benches returns the bench of endpoints over ADS, in one run with go-control-plane and the floor.
func Benches() []measure.Bench {
	b := measure.Bench{Name: "xds", Shows: "endpoints over ADS to 1,000 streams, beside go-control-plane"}
	for _, shape := range testCases {
		h := measure.Half{
			Name: shape.half, Shows: fmt.Sprintf("%d endpoints, %d streams on a connection", shape.endpoints, shape.perConnection),
			Must: fmt.Sprintf("CPU ≤ %.2f ×, latency ≤ %.2f ×, memory ≤ %.2f ×", shape.perUpdate, shape.last, shape.memory),
			Run: func(ctx context.Context, r *measure.Report, c measure.Options) error {
				return measureCase(ctx, r, c, shape)
			},
		}
		if shape.perUpdate == 0 {
			h.Must = fmt.Sprintf("memory ≤ %.2f ×", shape.memory)
		}
		b.Halves = append(b.Halves, h)
	}
	b.Halves = append(
		b.Halves,
		measure.Half{
			Name: "budget", Shows: "50 changes a second of 5,000 endpoints, 1,000 streams",
			Must: "≤ 70.4 MiB/s, ≤ 2.2 s, removals ≤ 0.7 s, p99 of others + 5 ms", Run: measureBudget,
		},
		measure.Half{
			Name: "restart", Shows: "the server is restarted with 20,000 streams",
			Must: "≤ 10 s, every stream has the right resources", Run: measureRestart,
		},
	)
	return []measure.Bench{b}
}

func measureCase(ctx context.Context, r *measure.Report, c measure.Options, shape testCase) error {
	if _, err := os.Stat("bin/gocontrolplane"); err != nil {
		return fmt.Errorf("%w: run `make bench ONLY=xds`, which builds it", err)
	}
	k, err := workload.StartLoadedCluster(ctx, time.Second, shape.endpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
	starts := []func(context.Context, *measure.Cluster) (*measure.Server, error){startFloor, startGoControlPlane, startSignpost}
	all := make([][]result, len(starts))
	for range c.Rounds {
		for i, start := range starts {
			f, err := measureServer(ctx, k, shape, start)
			if err != nil {
				return err
			}
			all[i] = append(all[i], f)
		}
	}
	printCase(r, c, shape, all[0], all[1], all[2])
	return nil
}

func printCase(r *measure.Report, c measure.Options, shape testCase, floor, other, signpost []result) {
	beside := func(base []result, name, unit string, limit float64, of func(result) float64) {
		r.Ratio(name, unit, measure.Figures{Base: measure.Median(base, of), Signpost: measure.Median(signpost, of), Limit: limit})
	}
	title := fmt.Sprintf("xDS: %d streams, %d on a connection, %d endpoints, %d changes of one pod, medians of %d",
		shape.streams, shape.perConnection, shape.endpoints, shape.updates, c.Rounds)
	r.TitleBeside("go-control-plane", "%s", title)
	beside(other, "CPU per delivered update", "µs", shape.perUpdate, func(f result) float64 { return f.perUpdate })
	beside(other, "from API write to the last stream, median", "ms", shape.last, func(f result) float64 { return f.last })
	beside(other, "from API write to a stream, p99", "ms", shape.last, func(f result) float64 { return f.p99 })
	beside(other, "memory per stream", "kB", shape.memory, func(f result) float64 { return f.kBPerStream })
	beside(other, "CPU to give every stream its first responses", "s", 0, func(f result) float64 { return f.setupCPU })
	beside(other, "bytes of an update", "B", 0, func(f result) float64 { return f.bytes })
	r.TitleBeside("floor", "%s", title)
	beside(floor, "CPU per delivered update", "µs", shape.floor, func(f result) float64 { return f.perUpdate })
	beside(floor, "from API write to a stream, p99", "ms", 0, func(f result) float64 { return f.p99 })
	beside(floor, "memory per stream", "kB", 0, func(f result) float64 { return f.kBPerStream })
	beside(floor, "bytes of an update", "B", 0, func(f result) float64 { return f.bytes })
}

func startFloor(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
	p, err := measure.StartSelf(ctx, k.Dir, 0, "xdsfloor", "--addr", measure.FloorAddr, "--kubeconfig", k.Kubeconfig)
	return &measure.Server{Process: p, Addr: measure.FloorAddr}, err
}

func startGoControlPlane(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
	p, err := measure.Start(ctx, k.Dir, "bin/gocontrolplane", "--addr", goControlPlaneAddr, "--kubeconfig", k.Kubeconfig,
		"--namespace", workload.Namespace, "--service", workload.Service)
	return &measure.Server{Process: p, Addr: goControlPlaneAddr}, err
}

func startSignpost(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
	return startXDS(ctx, k.Dir, k.Kubeconfig, "--enable-pprof", "--grpc-max-connections-per-host=2000")
}

// startXDS starts Signpost's xDS server, and waits until it is ready.
func startXDS(ctx context.Context, dir, kubeconfig string, flags ...string) (*measure.Server, error) {
	p, err := measure.Start(ctx, dir, measure.SignpostBinary, append([]string{
		"xds", "--xds-addr", measure.SignpostAddr, "--metrics-addr", measure.AdminAddr, "--kubeconfig", kubeconfig, "--enable-ipv6=false",
	}, flags...)...)
	if err != nil {
		return nil, err
	}
	s := &measure.Server{Process: p, Addr: measure.SignpostAddr}
	if err := s.AwaitReady(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func measureServer(ctx context.Context, k *measure.Cluster, shape testCase, start func(context.Context, *measure.Cluster) (*measure.Server, error)) (result, error) {
	s, err := start(ctx, k)
	if err != nil {
		return result{}, err
	}
	defer s.Stop()
	// One stream first: what the server does only once is done then.
	full, err := awaitEndpoints(ctx, s.Addr, shape.endpoints)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", s.Name, cmp.Or(s.Ended(), err))
	}
	if err := measure.Pause(ctx, 2*time.Second); err != nil {
		return result{}, err
	}
	f, err := fanXDS(ctx, k, s, shape, full)
	if err != nil {
		return f, fmt.Errorf("%s: %w: see %s", s.Name, err, s.Log)
	}
	return f, nil
}

func fanXDS(ctx context.Context, k *measure.Cluster, s *measure.Server, shape testCase, full int) (result, error) {
	var x *xdsStreams
	var responses, bytes int64
	t := &workload.Toggler{Client: k.Client, Endpoints: shape.endpoints}
	used, err := s.FanOut(ctx, func() (err error) {
		x, err = openStreams(ctx, s.Addr, shape.streams, shape.perConnection, full)
		return err
	}, func() error {
		responses, bytes = x.responses.Load(), x.bytes.Load()
		for range shape.updates {
			if err := x.update(ctx, t); err != nil {
				return err
			}
			if err := measure.Pause(ctx, shape.pause); err != nil {
				return err
			}
		}
		return nil
	})
	if x != nil {
		defer x.Close()
	}
	if err != nil {
		return result{}, err
	}
	if t.Absent {
		if err := t.Reset(ctx); err != nil {
			return result{}, err
		}
	}
	delivered := float64(x.responses.Load() - responses)
	all, last := x.latencies()
	return result{
		setupCPU:    used.Setup.Seconds(),
		perUpdate:   float64(used.Changes.Microseconds()) / delivered,
		kBPerStream: used.Memory / 1024 / float64(shape.streams),
		p99:         measure.Quantile(all, .99),
		last:        measure.Quantile(last, .5),
		bytes:       float64(x.bytes.Load()-bytes) / delivered,
	}, nil
}
