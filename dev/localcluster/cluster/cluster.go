// Package cluster runs a Kubernetes control plane on the loopback interface: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler as child processes of this very binary, and simulated
// nodes beside them.
//
// The command `localcluster up` is its caller. In the directory it is given, Run keeps
//
//	kubeconfig          appears, in one step, when everything is ready
//	logs/<component>.log
//	pids/<component>    exists while the component runs, for tests that kill or stop one
//	etcd/ pki/          the cluster's state; a second start in the same directory goes on from there
//
// Unless the options say otherwise nobody in it writes Endpoints and EndpointSlices, but for those
// of the Service kubernetes, which the API server writes: that is left to `signpost controllers`.
// Nothing here waits for them.
//
// A component that dies is started again with the same arguments, thus the same ports and data. A
// component that dies before it was ever ready ends the whole start, with the end of its log in the
// error.
//
// Concurrency: one Run per directory, enforced by a lock file; several may run beside each other in
// other directories.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/localcluster/nodes"
	"github.com/signpostd/signpost/dev/localcluster/pki"
	"github.com/signpostd/signpost/dev/localcluster/supervise"
)

// stopGrace is what a component gets to end by itself.
const stopGrace = 5 * time.Second

// cluster is one running control plane.
type cluster struct {
	plan
	rest      *rest.Config
	client    kubernetes.Interface
	processes []*supervise.Process // in the order of starting

	simulator     sync.WaitGroup
	stopSimulator context.CancelFunc
}

// Run starts the cluster, stays until ctx ends, and takes everything down.
func Run(ctx context.Context, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return fmt.Errorf("find directory %s: %w", options.Dir, err)
	}
	options.Dir = dir
	unlock, err := prepare(dir)
	if err != nil {
		return err
	}
	defer unlock()
	if options.Ephemeral {
		defer os.RemoveAll(dir)
	}
	reserved := &reservation{}
	defer reserved.release()
	c, err := newCluster(options, reserved)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	options.Report("stopping")
	return nil
}

// newCluster writes all files that the components read.
func newCluster(options Options, reserved *reservation) (*cluster, error) {
	ports, err := reserved.pick(options.Port)
	if err != nil {
		return nil, err
	}
	files, err := pki.Ensure(filepath.Join(options.Dir, "pki"), []net.IP{net.ParseIP("10.96.0.1"), net.ParseIP("fd00:10:96::1")})
	if err != nil {
		return nil, err
	}
	c := &cluster{plan: plan{options: options, ports: ports, files: files}}
	kubeconfig, err := newKubeconfig(files, url("https", ports.apiServer))
	if err != nil {
		return nil, err
	}
	if err := clientcmd.WriteToFile(*kubeconfig, c.adminKubeconfig()); err != nil {
		return nil, fmt.Errorf("write kubeconfig of the components: %w", err)
	}
	if err := os.WriteFile(c.schedulerConfig(), c.schedulerYAML(), 0o600); err != nil {
		return nil, fmt.Errorf("write scheduler configuration: %w", err)
	}
	if err := os.WriteFile(c.auditPolicy(), []byte(auditPolicyYAML), 0o600); err != nil {
		return nil, fmt.Errorf("write audit policy: %w", err)
	}
	if c.rest, err = newRESTConfig(kubeconfig); err != nil {
		return nil, err
	}
	c.client, err = newClient(c.rest)
	return c, err
}

// prepare makes the directories and takes the lock. A kubeconfig of an earlier run goes: it means "ready".
func prepare(dir string) (unlock func(), err error) {
	for _, sub := range []string{"logs", "pids"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make cluster directory: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock cluster directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("lock cluster directory %s: another cluster runs there: %w", dir, err)
	}
	if err := os.Remove(filepath.Join(dir, "kubeconfig")); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("remove old kubeconfig: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// start brings everything up, within the start timeout. What it leaves running ends with stop, not
// with ctx, because the order of ending matters.
func (c *cluster) start(ctx context.Context) error {
	running := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.StartTimeout,
		fmt.Errorf("start timeout of %s is over", c.options.StartTimeout))
	defer cancel()
	for _, name := range []string{Etcd, APIServer} {
		if err := c.launch(running, name).WaitReady(ctx); err != nil {
			return err
		}
	}
	var others []*supervise.Process
	for _, name := range []string{ControllerManager, Scheduler} {
		if c.options.has(name) {
			others = append(others, c.launch(running, name))
		}
	}
	if err := c.applyCRDs(ctx); err != nil {
		return err
	}
	if err := c.startNodes(ctx, running); err != nil {
		return err
	}
	for _, process := range others {
		if err := process.WaitReady(ctx); err != nil {
			return err
		}
	}
	if err := c.waitUsable(ctx); err != nil {
		return err
	}
	content, err := os.ReadFile(c.adminKubeconfig())
	if err != nil {
		return fmt.Errorf("publish kubeconfig: %w", err)
	}
	if err := supervise.WriteFile(c.kubeconfig(), content, 0o600); err != nil {
		return fmt.Errorf("publish kubeconfig: %w", err)
	}
	c.options.Report("ready: export KUBECONFIG=" + c.kubeconfig())
	return nil
}

// launch starts a component.
func (c *cluster) launch(ctx context.Context, name string) *supervise.Process {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	grace := stopGrace
	if c.options.Ephemeral {
		grace = 0
	}
	process := supervise.Start(ctx, supervise.Spec{
		Name:         name,
		Command:      append([]string{self, name}, c.args(name)...),
		LogFile:      filepath.Join(c.options.Dir, "logs", name+".log"),
		PIDFile:      filepath.Join(c.options.Dir, "pids", name),
		RestartDelay: c.options.RestartDelay,
		StopGrace:    grace,
		Ready:        c.probe(name),
		Report:       c.options.Report,
	})
	c.processes = append(c.processes, process)
	return process
}

func (c *cluster) applyCRDs(ctx context.Context) error {
	if c.options.CRDs == "" {
		return nil
	}
	count, err := applyCRDs(ctx, c.rest, c.options.CRDs)
	if err != nil {
		return err
	}
	c.options.Report(fmt.Sprintf("crds ready (%d)", count))
	return nil
}

// startNodes registers the simulated nodes and leaves them running.
func (c *cluster) startNodes(ctx, running context.Context) error {
	if c.options.Nodes == 0 {
		return nil
	}
	log, err := os.OpenFile(filepath.Join(c.options.Dir, "logs", "nodes.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log of the simulated nodes: %w", err)
	}
	simulator := nodes.New(nodes.Options{
		Client:     c.client,
		Count:      c.options.Nodes,
		ReadyDelay: c.options.PodReadyDelay,
		Log:        slog.New(slog.NewTextHandler(log, nil)),
	})
	if err := simulator.Register(ctx); err != nil {
		err = fmt.Errorf("%w; see %s", err, filepath.Join(c.options.Dir, "logs", APIServer+".log"))
		return errors.Join(err, log.Close())
	}
	running, c.stopSimulator = context.WithCancel(running)
	c.simulator.Go(func() {
		defer log.Close()
		simulator.Run(running)
	})
	c.options.Report(fmt.Sprintf("nodes ready (%d)", c.options.Nodes))
	return nil
}

// waitUsable waits for what the first `kubectl apply` needs beyond ready components: the default
// service account.
func (c *cluster) waitUsable(ctx context.Context) error {
	if !c.options.has(ControllerManager) {
		return nil
	}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account: %w", err)
	}
	return nil
}

// stop takes everything down, the last started first: no component loses one that it needs.
func (c *cluster) stop() {
	if c.stopSimulator != nil {
		c.stopSimulator()
	}
	c.simulator.Wait()
	for _, process := range slices.Backward(c.processes) {
		process.Stop()
	}
	_ = os.Remove(c.kubeconfig())
}
