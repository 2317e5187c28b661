package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

// The addresses of the servers that are measured.
const (
	floorAddr    = "127.0.0.1:18087"
	signpostAddr = "127.0.0.1:18086"
	adminAddr    = "127.0.0.1:19996"
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
func measureFanout(ctx context.Context, r *report) error {
	for _, c := range fanoutCases {
		if err := measureFanoutCase(ctx, r, c); err != nil {
			return err
		}
	}
	return nil
}

// rounds is how often each server is measured, in turns, so that what else the
// machine does meets both; the figures are medians.
const rounds = 3

func measureFanoutCase(ctx context.Context, r *report, c fanoutCase) error {
	k, err := startLoadedCluster(ctx, time.Second, c.endpoints)
	if err != nil {
		return err
	}
	defer k.stop()
	var all [2][]fanned
	for range rounds {
		for i, startServer := range []func(context.Context, *cluster) (*server, error){startFloor, startSignpost} {
			f, err := measureServer(ctx, k, c, startServer)
			if err != nil {
				return err
			}
			all[i] = append(all[i], f)
		}
	}
	figure := func(name, unit string, limit float64, of func(fanned) float64) {
		r.ratio(name, unit, figures{median(all[0], of), median(all[1], of), limit})
	}
	r.title("%d streams, %d endpoints, %d changes of one pod, medians of %d", c.streams, c.endpoints, updates, rounds)
	figure("CPU to give every stream its first answer", "s", c.setup, func(f fanned) float64 { return f.setupCPU })
	figure("CPU per delivered update", "µs", c.perUpdate, func(f fanned) float64 { return f.perUpdate })
	figure("p50 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p50 })
	figure("p99 from API write to a stream", "ms", c.p99, func(f fanned) float64 { return f.p99 })
	memory := func(f fanned) float64 { return f.kBPerStream }
	figure("memory per stream", "kB", 0, memory)
	r.atMost("memory per stream", "kB", median(all[1], memory), c.kB)
	return nil
}

func median[T any](list []T, of func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, f := range list {
		values[i] = of(f)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// server is a Destination server that is being measured.
type server struct {
	*process
	addr string
}

func startFloor(ctx context.Context, k *cluster) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, k.dir, self, "floor", "--addr", floorAddr, "--kubeconfig", k.kubeconfig)
	return &server{p, floorAddr}, err
}

func startSignpost(ctx context.Context, k *cluster) (*server, error) {
	return startDestination(ctx, k.dir, k.kubeconfig)
}

// startDestination starts a destination server beside the API server of a kubeconfig.
func startDestination(ctx context.Context, dir, kubeconfig string, env ...string) (*server, error) {
	return startDestinationWith(ctx, dir, kubeconfig, nil, env...)
}

// startDestinationWith is startDestination with further flags.
func startDestinationWith(ctx context.Context, dir, kubeconfig string, flags []string, env ...string) (*server, error) {
	args := append([]string{
		"destination", "-addr", signpostAddr, "-metrics-addr", adminAddr, "-kubeconfig", kubeconfig, "-enable-ipv6=false", "-enable-pprof",
	}, flags...)
	p, err := startWith(ctx, dir, env, "bin/signpost", args...)
	return &server{p, signpostAddr}, err
}

// awaitReady waits until Signpost says that it is ready, or has ended.
func (s *server) awaitReady(ctx context.Context) error {
	err := pollSlowly(ctx, 5*time.Minute, func() bool {
		status, _, err := adminGet(ctx, "/ready")
		return s.ended() != nil || err == nil && status == http.StatusOK
	})
	if err == nil {
		err = s.ended()
	}
	if err != nil {
		return fmt.Errorf("start Signpost: %w: see %s", err, s.log)
	}
	return nil
}

func measureServer(ctx context.Context, k *cluster, c fanoutCase, startServer func(context.Context, *cluster) (*server, error)) (fanned, error) {
	s, err := startServer(ctx, k)
	if err != nil {
		return fanned{}, err
	}
	defer s.stop()
	// One stream first: whatever the server does only once is done then.
	one, err := open(ctx, s.addr, 1, c.endpoints)
	if err != nil {
		return fanned{}, err
	}
	one.close()
	if err := pause(ctx, 2*time.Second); err != nil {
		return fanned{}, err
	}
	return fan(ctx, k, s, c)
}

func fan(ctx context.Context, k *cluster, s *server, c fanoutCase) (fanned, error) {
	idle, err := s.usage()
	if err != nil {
		return fanned{}, err
	}
	all, err := open(ctx, s.addr, c.streams, c.endpoints)
	if err != nil {
		return fanned{}, err
	}
	defer all.close()
	subscribed, err := s.usage()
	if err != nil {
		return fanned{}, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return fanned{}, err
	}
	settled, err := s.usage()
	if err != nil {
		return fanned{}, err
	}
	before := all.messages.Load()
	t := &toggler{client: k.client, endpoints: c.endpoints}
	for range updates {
		if err := all.update(ctx, t, c.streams); err != nil {
			return fanned{}, err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fanned{}, err
		}
	}
	end, err := s.usage()
	if err != nil {
		return fanned{}, err
	}
	latencies := all.latencies()
	return fanned{
		setupCPU:    (subscribed.cpu - idle.cpu).Seconds(),
		perUpdate:   float64((end.cpu - settled.cpu).Microseconds()) / float64(all.messages.Load()-before),
		kBPerStream: (settled.rss - idle.rss) / 1024 / float64(c.streams),
		p50:         quantile(latencies, .5),
		p99:         quantile(latencies, .99),
	}, nil
}
