package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/lab/etcdctl"
)

// Components of the control plane.
const (
	etcd      = "etcd"
	apiServer = "kube-apiserver"
)

// stopGrace is how long a process may take to end at the end of a run.
const stopGrace = 15 * time.Second

// startTimeout is how long the control plane, or a restarted component, may take to be ready.
const startTimeout = 2 * time.Minute

// await polls until the condition holds.
func await(ctx context.Context, what string, limit time.Duration, holds func() (bool, error)) error {
	return clienttest.Until(ctx, what, limit, 50*time.Millisecond, holds)
}

// controlPlane is a real etcd and a real API server.
type controlPlane struct {
	*clienttest.Program
	dir string
	// etcdURL is the address of etcd, which stays the same after a kill.
	etcdURL string
}

// kubeconfig returns the path of the administrator's kubeconfig.
func (c *controlPlane) kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

func startControlPlane(ctx context.Context, dir, program string) (*controlPlane, error) {
	cmd := exec.Command(program, "up", "--dir", dir, "--crds", "deploy/crds", "--components", etcd+","+apiServer, "--nodes", "0", "--restart-delay", "100ms")
	p, err := clienttest.Start("localcluster", dir+".log", cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	c := &controlPlane{Program: p, dir: dir}
	err = await(ctx, "the control plane", startTimeout, func() (bool, error) {
		if ended := p.Ended(); ended != nil {
			return false, ended
		}
		_, err := os.Stat(c.kubeconfig())
		return err == nil, err
	})
	if err == nil {
		c.etcdURL, err = etcdctl.URL(dir)
	}
	if err != nil {
		p.Stop(stopGrace)
		return nil, err
	}
	return c, nil
}

// pid returns the process ID of a component, or 0 if it doesn't run.
func (c *controlPlane) pid(component string) (int, error) {
	pid, err := clienttest.ComponentPid(c.dir, component)
	// The file is empty for a moment while it is written.
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, strconv.ErrSyntax) {
		return 0, nil
	}
	return pid, err
}

// takeDown kills a component, and stops its replacement before that serves, until bringUp is called.
func (c *controlPlane) takeDown(ctx context.Context, component string) (bringUp func() error, err error) {
	old, err := c.kill(ctx, component)
	if err != nil {
		return nil, err
	}
	next := 0
	err = await(ctx, component+" to be started again", startTimeout, func() (bool, error) {
		var err error
		if next, err = c.pid(component); err != nil || next == 0 || next == old {
			return false, err
		}
		return true, syscall.Kill(next, syscall.SIGSTOP)
	})
	if err != nil {
		return nil, err
	}
	return func() error { return syscall.Kill(next, syscall.SIGCONT) }, nil
}

// stop suspends a component. End that with takeDown.
func (c *controlPlane) stop(component string) error {
	pid, err := c.pid(component)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", component, err)
	}
	return nil
}

// etcdCopy returns the directory of the copy of etcd's data.
func (c *controlPlane) etcdCopy() string { return filepath.Join(c.dir, "etcd-copy") }

// replaceEtcd replaces etcd's data by the copy, and returns when etcd serves it.
func (c *controlPlane) replaceEtcd(ctx context.Context, bumpAbove int64) error {
	if err := etcdctl.ReplaceData(c.dir, c.etcdCopy()); err != nil {
		return err
	}
	if bumpAbove > 0 {
		return etcdctl.Bump(ctx, c.etcdURL, bumpAbove)
	}
	_, err := etcdctl.Revision(ctx, c.etcdURL)
	return err
}

// kill kills a component and returns its process ID.
func (c *controlPlane) kill(ctx context.Context, component string) (int, error) {
	var pid int
	err := await(ctx, component, startTimeout, func() (bool, error) {
		var err error
		pid, err = c.pid(component)
		return pid != 0, err
	})
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, fmt.Errorf("kill %s: %w", component, err)
	}
	return pid, nil
}

// fill makes etcd refuse writes, as if its quota were used up, until clear is called.
func (c *controlPlane) fill(ctx context.Context) (clear func(context.Context) error, err error) {
	alarm := func(ctx context.Context, action pb.AlarmRequest_AlarmAction) error {
		return etcdctl.With(ctx, c.etcdURL, func(ctx context.Context, client *clientv3.Client) error {
			status, err := client.Status(ctx, c.etcdURL)
			if err != nil {
				return fmt.Errorf("ask etcd for its member: %w", err)
			}
			_, err = pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{Action: action, MemberID: status.Header.MemberId, Alarm: pb.AlarmType_NOSPACE})
			if err != nil {
				return fmt.Errorf("set the alarm of etcd: %w", err)
			}
			return nil
		})
	}
	return func(ctx context.Context) error { return alarm(ctx, pb.AlarmRequest_DEACTIVATE) }, alarm(ctx, pb.AlarmRequest_ACTIVATE)
}
