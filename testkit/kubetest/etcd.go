package kubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/signpostd/signpost/dev/lab/etcdctl"
)

// restoreTimeout bounds the wait for a restarted component.
const restoreTimeout = 2 * time.Minute

// CopyEtcd returns a directory with a copy of etcd's data, for RestoreEtcd.
func (c *OwnCluster) CopyEtcd() (dir string) {
	c.t.Helper()
	dir = filepath.Join(c.t.TempDir(), Etcd)
	if err := etcdctl.CopyData(c.dir, dir); err != nil {
		c.t.Fatalf("kubetest: %v", err)
	}
	return dir
}

// RestoreEtcd replaces etcd's data with a copy, or with nothing if dir is empty, and restarts etcd and the
// API server. Once etcd serves and before the API server does, it calls before with the directory of the
// cluster. The restart delay of the cluster must be at least one second.
func (c *OwnCluster) RestoreEtcd(dir string, before func(clusterDir string)) {
	c.t.Helper()
	fresh := filepath.Join(c.dir, Etcd+".new")
	if dir != "" {
		if err := os.CopyFS(fresh, os.DirFS(dir)); err != nil {
			c.t.Fatalf("kubetest: copy data for etcd: %v", err)
		}
	} else if err := os.Mkdir(fresh, 0o700); err != nil {
		c.t.Fatalf("kubetest: make an empty directory for etcd: %v", err)
	}
	c.Kill(APIServer)
	if err := etcdctl.ReplaceData(c.dir, fresh); err != nil {
		c.t.Fatalf("kubetest: %v", err)
	}
	c.awaitPID(APIServer)
	c.Stop(APIServer)
	c.awaitPID(Etcd)
	if before != nil {
		before(c.dir)
	}
	c.Continue(APIServer)
}

// awaitPID waits until a component runs again.
func (c *OwnCluster) awaitPID(component string) {
	c.t.Helper()
	Eventually(c.t, restoreTimeout, func() error {
		text, err := os.ReadFile(filepath.Join(c.dir, "pids", component))
		if err != nil {
			return err
		}
		var pid int
		if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &pid); err != nil {
			return fmt.Errorf("read the pid of %s: %w", component, err)
		}
		return syscall.Kill(pid, 0)
	})
}
