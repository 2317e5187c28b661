package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	controllersWithin     = 3 * time.Minute // for whatever is awaited
	idleWindow            = 2 * time.Second
	idleCPU               = 20 * time.Millisecond // in idleWindow
	unlimited             = "1000000"
	localclusterBinary    = "bin/localcluster"
	signpostBinary        = "bin/signpost"
	peakMemoryIsReadAfter = time.Second
)

// controllersRun measures one layout.
type controllersRun struct {
	layout
	choice      choice
	cluster     *cluster
	client      *kubernetes.Clientset
	competitors [2]startControllers
	interrupted atomic.Int64 // watches of this process
}

// startControllers starts a process that writes what it is asked to, with further flags.
// The kubeconfig is for the API server or a proxy before it; the log goes to a file in dir.
type startControllers func(ctx context.Context, dir, kubeconfig string, writers []writer, flags ...string) (*process, error)

func competitors(c choice) [2]startControllers {
	return [2]startControllers{startKubernetesControllers, challenger(c)}
}

// challenger returns what is measured against the Kubernetes controllers.
func challenger(c choice) startControllers {
	if c.rehearse {
		return startKubernetesControllers
	}
	return signpostControllers(signpostBinary)
}

func startKubernetesControllers(ctx context.Context, dir, kubeconfig string, writers []writer, flags ...string) (*process, error) {
	port, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	return start(ctx, dir, localclusterBinary, append([]string{
		"kube-controller-manager",
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port),
		"--kube-api-qps", unlimited, "--kube-api-burst", unlimited,
		"--controllers", join(writers, func(w writer) string { return w.kubernetes }),
	}, flags...)...)
}

// signpostControllers starts a binary of Signpost.
func signpostControllers(binary string) startControllers {
	return func(ctx context.Context, dir, kubeconfig string, writers []writer, flags ...string) (*process, error) {
		metrics, err := childprocess.Address()
		if err != nil {
			return nil, err
		}
		return start(ctx, dir, binary, append([]string{
			"controllers", "--kubeconfig", kubeconfig, "--metrics-addr", metrics, "--kube-api-qps=0",
			"--controllers", join(writers, func(w writer) string { return w.signpost }),
		}, flags...)...)
	}
}

// withoutElection is the flag of a process that has no other replica.
const withoutElection = "--leader-elect=false"

func join(writers []writer, of func(writer) string) string {
	names := make([]string, len(writers))
	for i, w := range writers {
		names[i] = of(w)
	}
	return strings.Join(names, ",")
}

// quickClient returns a client that takes as little CPU time as possible: it shares the
// machine with what is measured.
func (c *cluster) quickClient() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.kubeconfig, err)
	}
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	config.WarningHandler = rest.NoWarnings{} // that Endpoints are deprecated
	return kubernetes.NewForConfig(config)
}

// coldFigures are what one start from nothing took.
type coldFigures struct {
	cpu, took time.Duration
	memory    float64
}

func coldCPU(f coldFigures) float64    { return f.cpu.Seconds() }
func coldTook(f coldFigures) float64   { return f.took.Seconds() }
func coldMemory(f coldFigures) float64 { return f.memory / (1 << 20) }

// cold removes all objects, starts the writers and waits until all objects are
// complete.
func (run *controllersRun) cold(ctx context.Context, start startControllers, writers []writer) (coldFigures, error) {
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
	p, err := start(ctx, run.cluster.dir, run.cluster.kubeconfig, writers, withoutElection)
	if err != nil {
		return f, err
	}
	defer p.stop()
	if err := await(ctx, p, boards, (*board).isComplete); err != nil {
		return f, fmt.Errorf("wait for complete objects: %w", err)
	}
	u, err := p.usage()
	if err != nil {
		return f, err
	}
	f.cpu, f.took = u.cpu, time.Since(begun)
	if err := pause(ctx, peakMemoryIsReadAfter); err != nil {
		return f, err
	}
	f.memory, err = p.peakMemory()
	return f, err
}

// complete lets Kubernetes write all objects that don't exist.
func (run *controllersRun) complete(ctx context.Context) error {
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
func (run *controllersRun) warm(ctx context.Context, start startControllers, w writer, rates []int) (warmFigures, error) {
	var f warmFigures
	boards, stop, err := run.watch(ctx, w)
	if err != nil {
		return f, err
	}
	defer stop()
	p, err := start(ctx, run.cluster.dir, run.cluster.kubeconfig, []writer{w}, withoutElection)
	if err != nil {
		return f, err
	}
	defer p.stop()
	cpu, err := untilIdle(ctx, p)
	if err != nil {
		return f, fmt.Errorf("wait until %s is idle: %w", p.name, err)
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

// untilIdle waits until the process has done next to nothing for idleWindow and
// returns the CPU time that it had used before that.
func untilIdle(ctx context.Context, p *process) (time.Duration, error) {
	const step = 100 * time.Millisecond
	const steps = int(idleWindow / step)
	ctx, cancel := context.WithTimeoutCause(ctx, controllersWithin, errTimeout)
	defer cancel()
	var samples []time.Duration
	for {
		u, err := p.usage()
		if err != nil {
			return 0, err
		}
		samples = append(samples, u.cpu)
		if past := len(samples) - 1 - steps; past >= 0 && u.cpu-samples[past] < idleCPU {
			return samples[past], nil
		}
		if pause(ctx, step) != nil {
			return 0, context.Cause(ctx)
		}
	}
}

// await waits until holds returns true for every board. It fails if the process ends.
func await(ctx context.Context, p *process, boards []*board, holds func(*board) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, controllersWithin, errTimeout)
	defer cancel()
	for _, b := range boards {
		for !holds(b) {
			if err := b.failed(); err != nil {
				return err
			}
			if err := p.ended(); err != nil {
				return err
			}
			if pause(ctx, time.Millisecond) != nil {
				return fmt.Errorf("%w: %s", context.Cause(ctx), b)
			}
		}
	}
	return nil
}
