package failover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/signpostd/signpost/dev/bench/controllers"
	"github.com/signpostd/signpost/dev/bench/measure"
)

// replica is one of the two processes, with the proxy before it.
type replica struct {
	dir        string
	kubeconfig string
	proxy      *apiProxy
	run        controllers.StartFunc
	process    *measure.Process // nil while there is none
}

func (l leaseTimes) flags() []string {
	return []string{
		"--leader-elect=true", "--leader-elect-resource-namespace=kube-system",
		"--leader-elect-lease-duration=" + l.duration.String(),
		"--leader-elect-renew-deadline=" + l.renew.String(),
		"--leader-elect-retry-period=" + l.retry.String(),
	}
}

func newReplica(k *measure.Cluster, number int, run controllers.StartFunc) (*replica, error) {
	r := &replica{dir: filepath.Join(k.Dir, fmt.Sprintf("replica-%d", number)), run: run}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if r.proxy, err = startProxy(k); err != nil {
		return nil, err
	}
	r.kubeconfig = filepath.Join(r.dir, "kubeconfig")
	return r, r.proxy.Kubeconfig(r.kubeconfig)
}

func (r *replica) close() {
	r.stop()
	r.proxy.Close()
}

func (r *replica) start(ctx context.Context, lease leaseTimes) error {
	r.proxy.restarted()
	var err error
	r.process, err = r.run(ctx, r.dir, r.kubeconfig, []controllers.Writer{controllers.SlicesWriter}, lease.flags()...)
	return err
}

func (r *replica) signal(s syscall.Signal) { _ = r.process.Signal(s) }

// stop ends the process, if there is one.
func (r *replica) stop() {
	if r.process == nil {
		return
	}
	r.goOn() // a stopped process doesn't handle SIGTERM
	r.process.Stop()
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
	case <-r.process.Exited():
		r.process = nil
		return nil
	case <-time.After(failoverSettle):
		return fmt.Errorf("wait for the end of %s: %w: see %s", r.process.Name, measure.ErrTimeout, r.process.Log)
	}
}

// terminate asks the process to end, and doesn't wait.
func (r *replica) terminate() ending {
	e := ending{time.Now(), r.proxy.writesUnderWay()}
	r.signal(syscall.SIGTERM)
	return e
}

func (r *replica) pause() { r.signal(syscall.SIGSTOP) }

func (r *replica) goOn() { r.signal(syscall.SIGCONT) }

// outcome reports whether the process still runs.
func (r *replica) outcome() string {
	if err := r.process.Ended(); err != nil {
		return "ended by itself"
	}
	return "stood by"
}
