package etcdctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dev/clienttest"
)

// dataDir returns the data directory of etcd in a local cluster.
func dataDir(cluster string) string { return filepath.Join(cluster, "etcd") }

// CopyData copies the data of the etcd of a running cluster to a new directory. etcd is suspended meanwhile.
func CopyData(cluster, to string) error {
	pid, err := stop(cluster)
	if err != nil {
		return err
	}
	if err = os.CopyFS(to, os.DirFS(dataDir(cluster))); err != nil {
		err = fmt.Errorf("copy the data of etcd: %w", err)
	}
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}

// ReplaceData replaces the data of the etcd of a running cluster by those of another directory, which it
// takes over. It kills etcd, and the cluster starts etcd again with the new data. The old data stay beside
// them.
func ReplaceData(cluster, from string) error {
	// A suspended process writes nothing more to the old data, and isn't restarted yet.
	pid, err := stop(cluster)
	if err != nil {
		return err
	}
	data := dataDir(cluster)
	err = os.Rename(data, fmt.Sprint(data, ".", time.Now().UnixNano()))
	if err == nil {
		err = os.Rename(from, data)
	}
	if err != nil {
		err = fmt.Errorf("replace the data of etcd: %w", err)
	}
	return errors.Join(err, kill(pid))
}

// stop suspends etcd.
func stop(cluster string) (pid int, err error) {
	pid, err = clienttest.ComponentPid(cluster, "etcd")
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		return 0, fmt.Errorf("stop the etcd of the cluster in %s: %w", cluster, err)
	}
	return pid, nil
}

// kill ends a process, and returns when it has ended.
func kill(pid int) error {
	deadline := time.Now().Add(patience)
	for {
		switch err := syscall.Kill(pid, syscall.SIGKILL); {
		case errors.Is(err, syscall.ESRCH):
			return nil
		case err != nil:
			return fmt.Errorf("kill process %d: %w", pid, err)
		case time.Now().After(deadline):
			return fmt.Errorf("kill process %d: it is still there after %s", pid, patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// bumpers is how many keys are written at a time to raise the revision, because etcd commits concurrent
// writes together.
const bumpers = 32

// Bump raises the revision of etcd above a given one, and compacts all before, like `etcdutl snapshot restore
// --bump-revision --mark-compacted`.
func Bump(ctx context.Context, url string, above int64) error {
	revision, err := Revision(ctx, url)
	if err != nil {
		return err
	}
	err = With(ctx, url, func(ctx context.Context, client *clientv3.Client) error {
		var wg sync.WaitGroup
		errs := make([]error, bumpers)
		puts := (above-revision)/bumpers + 1
		for i := range errs {
			wg.Go(func() {
				for n := int64(0); n < puts && errs[i] == nil; n++ {
					_, errs[i] = client.Put(ctx, "/bumped", "")
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("raise the revision of etcd: %w", err)
		}
		return nil
	})
	if err == nil {
		revision, err = Revision(ctx, url)
	}
	if err != nil {
		return err
	}
	return Compact(ctx, url, revision)
}
