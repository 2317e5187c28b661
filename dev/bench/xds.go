package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

// goControlPlaneAddr is the address of the server in dev/gocontrolplane.
const goControlPlaneAddr = "127.0.0.1:18088"

// xdsCase is one shape of streams, with what it must reach beside go-control-plane and beside the floor.
type xdsCase struct {
	half                              string
	streams, endpoints, perConnection int
	// updates are how many changes are measured. pause is the time between two of them, so that none is delayed by
	// --xds-egress-budget.
	updates int
	pause   time.Duration
	// perUpdate, last and memory are the limits of ratios beside go-control-plane, floor that of the CPU beside the
	// floor.
	perUpdate, last, memory, floor float64
}

// From spec/xds.md case 54 to spec/xds.md case 56.
var xdsCases = []xdsCase{
	{"100", 1000, 100, 20, 50, 200 * time.Millisecond, 1. / 4, 1. / 3, 0.9, 0},
	{"1000", 1000, 1000, 20, 20, 600 * time.Millisecond, 1. / 10, 1. / 3, 0.9, 1.15},
	{"connections", 1000, 100, 1, 50, 200 * time.Millisecond, 0, 0, 0.9, 0},
}

// xdsFanned is what one server spent on a case.
type xdsFanned struct {
	setupCPU, perUpdate, kBPerStream, p99, last, bytes float64
}

// measureXDS measures endpoints over ADS, in one run with go-control-plane and the floor.
func measureXDS(ctx context.Context, r *report, c choice) error {
	if _, err := os.Stat("bin/gocontrolplane"); err != nil {
		return fmt.Errorf("%w: run `make bench ONLY=xds`, which builds it", err)
	}
	for _, shape := range xdsCases {
		if !c.wants(shape.half) {
			continue
		}
		if err := measureXDSCase(ctx, r, c, shape); err != nil {
			return fmt.Errorf("%s: %w", shape.half, err)
		}
	}
	return nil
}

func measureXDSCase(ctx context.Context, r *report, c choice, shape xdsCase) error {
	k, err := startLoadedCluster(ctx, time.Second, shape.endpoints)
	if err != nil {
		return err
	}
	defer k.stop()
	starts := []func(context.Context, *cluster) (*server, error){startXDSFloor, startGoControlPlane, startSignpostXDS}
	all := make([][]xdsFanned, len(starts))
	for range c.rounds {
		for i, start := range starts {
			f, err := measureXDSServer(ctx, k, shape, start)
			if err != nil {
				return err
			}
			all[i] = append(all[i], f)
		}
	}
	reportXDS(r, c, shape, all[0], all[1], all[2])
	return nil
}

func reportXDS(r *report, c choice, shape xdsCase, floor, other, signpost []xdsFanned) {
	beside := func(base []xdsFanned, name, unit string, limit float64, of func(xdsFanned) float64) {
		r.ratio(name, unit, figures{median(base, of), median(signpost, of), limit})
	}
	title := fmt.Sprintf("xDS: %d streams, %d on a connection, %d endpoints, %d changes of one pod, medians of %d",
		shape.streams, shape.perConnection, shape.endpoints, shape.updates, c.rounds)
	r.titleBeside("go-control-plane", "%s", title)
	beside(other, "CPU per delivered update", "µs", shape.perUpdate, func(f xdsFanned) float64 { return f.perUpdate })
	beside(other, "from API write to the last stream, median", "ms", shape.last, func(f xdsFanned) float64 { return f.last })
	beside(other, "from API write to a stream, p99", "ms", shape.last, func(f xdsFanned) float64 { return f.p99 })
	beside(other, "memory per stream", "kB", shape.memory, func(f xdsFanned) float64 { return f.kBPerStream })
	beside(other, "CPU to give every stream its first responses", "s", 0, func(f xdsFanned) float64 { return f.setupCPU })
	beside(other, "bytes of an update", "B", 0, func(f xdsFanned) float64 { return f.bytes })
	r.titleBeside("floor", "%s", title)
	beside(floor, "CPU per delivered update", "µs", shape.floor, func(f xdsFanned) float64 { return f.perUpdate })
	beside(floor, "from API write to a stream, p99", "ms", 0, func(f xdsFanned) float64 { return f.p99 })
	beside(floor, "memory per stream", "kB", 0, func(f xdsFanned) float64 { return f.kBPerStream })
	beside(floor, "bytes of an update", "B", 0, func(f xdsFanned) float64 { return f.bytes })
}

func startXDSFloor(ctx context.Context, k *cluster) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, k.dir, self, "xdsfloor", "--addr", floorAddr, "--kubeconfig", k.kubeconfig)
	return &server{p, floorAddr}, err
}

func startGoControlPlane(ctx context.Context, k *cluster) (*server, error) {
	p, err := start(ctx, k.dir, "bin/gocontrolplane", "--addr", goControlPlaneAddr, "--kubeconfig", k.kubeconfig,
		"--namespace", namespace, "--service", service)
	return &server{p, goControlPlaneAddr}, err
}

func startSignpostXDS(ctx context.Context, k *cluster) (*server, error) {
	p, err := start(ctx, k.dir, "bin/signpost", "xds", "--xds-addr", signpostAddr, "--metrics-addr", adminAddr, "--kubeconfig", k.kubeconfig,
		"--enable-ipv6=false", "--enable-pprof", "--grpc-max-connections-per-host=2000")
	if err != nil {
		return nil, err
	}
	s := &server{p, signpostAddr}
	err = poll(ctx, time.Minute, func() bool {
		status, _, err := adminGet(ctx, "/ready")
		return s.ended() != nil || err == nil && status == http.StatusOK
	})
	return s, err
}

func measureXDSServer(ctx context.Context, k *cluster, shape xdsCase, start func(context.Context, *cluster) (*server, error)) (xdsFanned, error) {
	s, err := start(ctx, k)
	if err != nil {
		return xdsFanned{}, err
	}
	defer s.stop()
	// One stream first: what the server does only once is done then.
	full, err := awaitEndpoints(ctx, s.addr, shape.endpoints)
	if err != nil {
		return xdsFanned{}, fmt.Errorf("%s: %w", s.name, cmp.Or(s.ended(), err))
	}
	if err := pause(ctx, 2*time.Second); err != nil {
		return xdsFanned{}, err
	}
	f, err := fanXDS(ctx, k, s, shape, full)
	if err != nil {
		return f, fmt.Errorf("%s: %w: see %s", s.name, err, s.log)
	}
	return f, nil
}

func fanXDS(ctx context.Context, k *cluster, s *server, shape xdsCase, full int) (xdsFanned, error) {
	idle, err := s.usage()
	if err != nil {
		return xdsFanned{}, err
	}
	x, err := openXDS(ctx, s.addr, shape.streams, shape.perConnection, full)
	if err != nil {
		return xdsFanned{}, err
	}
	defer x.close()
	subscribed, err := s.usage()
	if err != nil {
		return xdsFanned{}, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return xdsFanned{}, err
	}
	settled, err := s.usage()
	if err != nil {
		return xdsFanned{}, err
	}
	responses, bytes := x.responses.Load(), x.bytes.Load()
	t := &toggler{client: k.client, endpoints: shape.endpoints}
	for range shape.updates {
		if err := x.update(ctx, t); err != nil {
			return xdsFanned{}, err
		}
		if err := pause(ctx, shape.pause); err != nil {
			return xdsFanned{}, err
		}
	}
	end, err := s.usage()
	if err != nil {
		return xdsFanned{}, err
	}
	if t.absent {
		if err := t.reset(ctx); err != nil {
			return xdsFanned{}, err
		}
	}
	delivered := float64(x.responses.Load() - responses)
	all, last := x.latencies()
	return xdsFanned{
		setupCPU:    (subscribed.cpu - idle.cpu).Seconds(),
		perUpdate:   float64((end.cpu - settled.cpu).Microseconds()) / delivered,
		kBPerStream: (settled.rss - idle.rss) / 1024 / float64(shape.streams),
		p99:         quantile(all, .99),
		last:        quantile(last, .5),
		bytes:       float64(x.bytes.Load()-bytes) / delivered,
	}, nil
}
