package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/signpostd/signpost/internal/childprocess"
)

// replica is one of the two processes, with the proxy before it.
type replica struct {
	dir        string
	kubeconfig string
	proxy      *apiProxy
	run        startReplica
	process    *process // nil while there is none
}

// startReplica starts a process that takes part in an election.
type startReplica func(context.Context, *replica, leaseTimes) (*process, error)

func startReplicaOf(c choice) startReplica {
	if c.rehearse {
		return startKubernetesReplica
	}
	return startSignpostReplica
}

func startSignpostReplica(ctx context.Context, r *replica, lease leaseTimes) (*process, error) {
	metrics, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	return start(ctx, r.dir, signpostBinary, append([]string{
		"controllers",
		"--controllers", slicesWriter.signpost, "--kubeconfig", r.kubeconfig, "--kube-api-qps=0",
		"--metrics-addr", metrics,
	}, lease.flags()...)...)
}

func startKubernetesReplica(ctx context.Context, r *replica, lease leaseTimes) (*process, error) {
	port, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	return start(ctx, r.dir, localclusterBinary, append([]string{
		"kube-controller-manager",
		"--controllers", slicesWriter.kubernetes,
		"--kubeconfig", r.kubeconfig, "--authentication-kubeconfig", r.kubeconfig, "--authorization-kubeconfig", r.kubeconfig,
		"--kube-api-qps", unlimited, "--kube-api-burst", unlimited,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port),
	}, lease.flags()...)...)
}

func (l leaseTimes) flags() []string {
	return []string{
		"--leader-elect=true", "--leader-elect-resource-namespace=kube-system",
		"--leader-elect-lease-duration=" + l.duration.String(),
		"--leader-elect-renew-deadline=" + l.renew.String(),
		"--leader-elect-retry-period=" + l.retry.String(),
	}
}

func newReplica(k *cluster, number int, run startReplica) (*replica, error) {
	r := &replica{dir: filepath.Join(k.dir, fmt.Sprintf("replica-%d", number)), run: run}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if r.proxy, err = startProxy(k); err != nil {
		return nil, err
	}
	r.kubeconfig = filepath.Join(r.dir, "kubeconfig")
	return r, r.proxy.kubeconfig(r.kubeconfig)
}

func (r *replica) close() {
	r.stop()
	_ = r.proxy.server.Close()
}

func (r *replica) start(ctx context.Context, lease leaseTimes) error {
	r.proxy.restarted()
	var err error
	r.process, err = r.run(ctx, r, lease)
	return err
}

func (r *replica) signal(s syscall.Signal) { _ = r.process.cmd.Process.Signal(s) }

// stop ends the process, if there is one.
func (r *replica) stop() {
	if r.process == nil {
		return
	}
	r.goOn() // a stopped process doesn't hear SIGTERM
	r.process.stop()
	r.process = nil
}

// kill ends the process at once; reap has to follow.
func (r *replica) kill() ending {
	e := ending{time.Now(), r.proxy.writesUnderWay()}
	r.signal(syscall.SIGKILL)
	return e
}

// reap waits for the end of the process.
func (r *replica) reap() error {
	select {
	case <-r.process.done:
		r.process = nil
		return nil
	case <-time.After(failoverSettle):
		return fmt.Errorf("%s doesn't end: %w: see %s", r.process.name, errTimeout, r.process.log)
	}
}

// terminate asks the process to end, and doesn't wait.
func (r *replica) terminate() ending {
	e := ending{time.Now(), r.proxy.writesUnderWay()}
	r.signal(syscall.SIGTERM)
	return e
}

func (r *replica) pause() { r.signal(syscall.SIGSTOP) }
func (r *replica) goOn()  { r.signal(syscall.SIGCONT) }

// fate says whether the process still runs.
func (r *replica) fate() string {
	if err := r.process.ended(); err != nil {
		return "ended by itself"
	}
	return "stood by"
}
