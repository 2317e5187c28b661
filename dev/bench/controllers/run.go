package controllers

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	unlimited             = "1000000"
	peakMemoryIsReadAfter = time.Second
)

// run measures one layout.
type run struct {
	Layout
	choice      measure.Options
	cluster     *measure.Cluster
	client      *kubernetes.Clientset
	competitors [2]StartFunc
	interrupted atomic.Int64 // watches of this process
}

// StartFunc starts a process that writes what it is asked to, with further flags.
// The kubeconfig is for the API server or a proxy before it; the log goes to a file in dir.
type StartFunc func(ctx context.Context, dir, kubeconfig string, writers []Writer, flags ...string) (*measure.Process, error)

func competitors(c measure.Options) [2]StartFunc {
	return [2]StartFunc{startKubernetesControllers, Challenger(c)}
}

// Challenger returns what is measured against the Kubernetes controllers.
func Challenger(c measure.Options) StartFunc {
	if c.Rehearse {
		return startKubernetesControllers
	}
	return Signpost(measure.SignpostBinary)
}

func startKubernetesControllers(ctx context.Context, dir, kubeconfig string, writers []Writer, flags ...string) (*measure.Process, error) {
	port, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	return measure.Start(ctx, dir, measure.LocalclusterBinary, append([]string{
		"kube-controller-manager",
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port),
		"--kube-api-qps", unlimited, "--kube-api-burst", unlimited,
		"--controllers", join(writers, func(w Writer) string { return w.kubernetes }),
	}, flags...)...)
}

// Signpost starts a binary of Signpost.
func Signpost(binary string) StartFunc {
	return func(ctx context.Context, dir, kubeconfig string, writers []Writer, flags ...string) (*measure.Process, error) {
		metrics, err := childprocess.Address()
		if err != nil {
			return nil, err
		}
		return measure.Start(ctx, dir, binary, append([]string{
			"controllers", "--kubeconfig", kubeconfig, "--metrics-addr", metrics, "--kube-api-qps=0",
			"--controllers", join(writers, func(w Writer) string { return w.signpost }),
		}, flags...)...)
	}
}

// withoutElection is the flag of a process that has no other replica.
const withoutElection = "--leader-elect=false"

func join(writers []Writer, of func(Writer) string) string {
	names := make([]string, len(writers))
	for i, w := range writers {
		names[i] = of(w)
	}
	return strings.Join(names, ",")
}

// coldFigures are what one start from nothing took.
type coldFigures struct {
	cpu, took time.Duration
	memory    float64
}

func coldCPU(f coldFigures) float64 { return f.cpu.Seconds() }

func coldTook(f coldFigures) float64 { return f.took.Seconds() }

func coldMemory(f coldFigures) float64 { return f.memory / (1 << 20) }

// cold removes all objects, starts the writers and waits until all objects are
// complete.
func (run *run) cold(ctx context.Context, start StartFunc, writers []Writer) (coldFigures, error) {
	var f coldFigures
	if err := run.clear(ctx, run.client); err != nil {
		return f, err
	}
	boards, stop, err := run.watch(ctx, writers...)
	if err != nil {
		return f, err
	}
	defer stop()
	begun := time.Now()
	p, err := start(ctx, run.cluster.Dir, run.cluster.Kubeconfig, writers, withoutElection)
	if err != nil {
		return f, err
	}
	defer p.Stop()
	if err := await(ctx, p, boards, (*board).isComplete); err != nil {
		return f, fmt.Errorf("wait for complete objects: %w", err)
	}
	u, err := p.Usage()
	if err != nil {
		return f, err
	}
	f.cpu, f.took = u.Cpu, time.Since(begun)
	if err := measure.Pause(ctx, peakMemoryIsReadAfter); err != nil {
		return f, err
	}
	f.memory, err = p.PeakMemory()
	return f, err
}

// complete lets Kubernetes write all objects that don't exist.
func (run *run) complete(ctx context.Context) error {
	_, err := run.cold(ctx, startKubernetesControllers, allWriters)
	return err
}

// warmFigures are what one start with nothing to write took, and the flips after it.
type warmFigures struct {
	cpu   float64
	wrote int
	flips []flipFigures // by rate
}

// warm starts the writer on complete objects, waits until it is idle, and then
// flips pods at each of the rates.
func (run *run) warm(ctx context.Context, start StartFunc, w Writer, rates []int) (warmFigures, error) {
	var f warmFigures
	boards, stop, err := run.watch(ctx, w)
	if err != nil {
		return f, err
	}
	defer stop()
	p, err := start(ctx, run.cluster.Dir, run.cluster.Kubeconfig, []Writer{w}, withoutElection)
	if err != nil {
		return f, err
	}
	defer p.Stop()
	cpu, err := measure.UntilIdle(ctx, p)
	if err != nil {
		return f, fmt.Errorf("wait until %s is idle: %w", p.Name, err)
	}
	f.cpu, f.wrote = cpu.Seconds(), boards[0].seen()
	flip := run.newFlipper(p, boards[0])
	for _, rate := range rates {
		figures, err := flip.measure(ctx, rate)
		if err != nil {
			return f, fmt.Errorf("%d flips a second: %w", rate, err)
		}
		f.flips = append(f.flips, figures)
	}
	return f, nil
}

// await waits until holds returns true for every board. It fails if the process ends.
func await(ctx context.Context, p *measure.Process, boards []*board, holds func(*board) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, measure.WaitLimit, measure.ErrTimeout)
	defer cancel()
	for _, b := range boards {
		for !holds(b) {
			if err := b.failed(); err != nil {
				return err
			}
			if err := p.Ended(); err != nil {
				return err
			}
			if measure.Pause(ctx, time.Millisecond) != nil {
				return fmt.Errorf("%w: %s", context.Cause(ctx), b)
			}
		}
	}
	return nil
}
