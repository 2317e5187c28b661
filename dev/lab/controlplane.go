package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dev/lab/etcdctl"
)

// The components of the control plane.
const (
	etcd      = "etcd"
	apiServer = "kube-apiserver"
)

// startPatience is how long the control plane, or a component that comes back, may take.
const startPatience = 2 * time.Minute

// controlPlane is a real etcd and a real API server.
type controlPlane struct {
	*child
	dir string
	// etcdURL is where etcd listens, also after it has been killed.
	etcdURL string
}

// kubeconfig is that of the administrator.
func (c *controlPlane) kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

func startControlPlane(ctx context.Context, dir, program string) (*controlPlane, error) {
	p, err := startChild("localcluster", dir+".log", program, nil, "up", "--dir", dir, "--crds", "deploy/crds", "--components", etcd+","+apiServer, "--nodes", "0", "--restart-delay", "100ms")
	if err != nil {
		return nil, err
	}
	c := &controlPlane{child: p, dir: dir}
	err = await(ctx, "the control plane", startPatience, func() (bool, error) {
		if ended := p.ended(); ended != nil {
			return false, ended
		}
		return exists(c.kubeconfig())
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

// pid returns the process of a component; 0 while there is none.
func (c *controlPlane) pid(component string) (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "pids", component))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", component, err)
	}
	// The file is empty for a moment while it is written.
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid, nil
}

// takeAway kills a component and stops the process that is started in its place before it serves, until the
// returned function is called.
func (c *controlPlane) takeAway(ctx context.Context, component string) (giveBack func() error, err error) {
	old, err := c.kill(ctx, component)
	if err != nil {
		return nil, err
	}
	next := 0
	err = await(ctx, component+" to be started again", startPatience, func() (bool, error) {
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

// stop makes a component answer nothing any more. It ends with takeAway.
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

// etcdCopy is where the copy of etcd's data is kept.
func (c *controlPlane) etcdCopy() string { return filepath.Join(c.dir, "etcd-copy") }

// replaceEtcd gives etcd the data of the copy, and returns when it serves them.
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

// kill ends a component and returns the id that its process had.
func (c *controlPlane) kill(ctx context.Context, component string) (int, error) {
	var pid int
	err := await(ctx, component, startPatience, func() (bool, error) {
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

// fill makes etcd refuse writes, as it does when its quota is used up, until the returned function is called.
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
