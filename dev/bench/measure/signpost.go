package measure

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
)

// HeapAfterGC returns the bytes of live heap in Signpost.
func HeapAfterGC(ctx context.Context) (float64, error) {
	// The profile is thrown away: asking for it collects the garbage.
	if _, err := AdminGet(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	v, err := Metric(ctx, "go_memstats_heap_alloc_bytes")
	if len(v) != 1 {
		return 0, fmt.Errorf("read go_memstats_heap_alloc_bytes: found %d values (%w)", len(v), err)
	}
	return v[0], err
}

// AdminGet returns a page of Signpost's admin server.
func AdminGet(ctx context.Context, path string) (string, error) {
	text, err := clienttest.Fetch(ctx, "http://"+AdminAddr+path)
	return string(text), err
}

// Metric returns the values of all series of a metric.
func Metric(ctx context.Context, name string) ([]float64, error) {
	return clienttest.Metric(ctx, AdminAddr, name)
}

// The programs that are measured, relative to the root of the module.
const (
	LocalclusterBinary = "bin/localcluster"
	SignpostBinary     = "bin/signpost"
)

// The addresses of the servers that are measured.
const (
	FloorAddr    = "127.0.0.1:18087"
	SignpostAddr = "127.0.0.1:18086"
	AdminAddr    = "127.0.0.1:19996"
)

// Server is a Destination server that is being measured.
type Server struct {
	*Process
	Addr string
}

// FanOut is what a server spent on streams: CPU time to open them, memory that they hold, and CPU time for
// changes.
type FanOut struct {
	Setup, Changes time.Duration
	Memory         float64
}

// FanOut returns what the server spends on streams and on changes that they hear of.
func (s *Server) FanOut(ctx context.Context, open, change func() error) (FanOut, error) {
	var at [4]Usage // idle, with streams, a second later, in the end
	settle := func() error { return Pause(ctx, time.Second) }
	for i, step := range []func() error{func() error { return nil }, open, settle, change} {
		if err := step(); err != nil {
			return FanOut{}, err
		}
		var err error
		if at[i], err = s.Usage(); err != nil {
			return FanOut{}, err
		}
	}
	return FanOut{Setup: at[1].Cpu - at[0].Cpu, Changes: at[3].Cpu - at[2].Cpu, Memory: at[2].Rss - at[0].Rss}, nil
}

// StartDestination starts a destination server beside the API server of a kubeconfig.
func StartDestination(ctx context.Context, dir, kubeconfig string, env ...string) (*Server, error) {
	return StartDestinationWith(ctx, dir, kubeconfig, nil, env...)
}

// StartDestinationWith is StartDestination with further flags.
func StartDestinationWith(ctx context.Context, dir, kubeconfig string, flags []string, env ...string) (*Server, error) {
	args := append([]string{
		"destination", "-addr", SignpostAddr, "-metrics-addr", AdminAddr, "-kubeconfig", kubeconfig, "-enable-ipv6=false", "-enable-pprof",
	}, flags...)
	p, err := StartWith(ctx, dir, env, SignpostBinary, args...)
	return &Server{p, SignpostAddr}, err
}

// AwaitReady waits until Signpost says that it is ready, or has ended.
func (s *Server) AwaitReady(ctx context.Context) error {
	err := PollSlowly(ctx, 5*time.Minute, func() bool {
		return s.Ended() != nil || clienttest.Ready(ctx, AdminAddr) == nil
	})
	if err := cmp.Or(err, s.Ended()); err != nil {
		return fmt.Errorf("start Signpost: %w: see %s", err, s.Log)
	}
	return nil
}
