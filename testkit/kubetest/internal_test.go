package kubetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPollKeepsTheLastError(t *testing.T) {
	calls := 0
	err := poll(3*pollInterval, func() error {
		calls++
		return errors.New("still dark")
	})
	if err == nil || err.Error() != "still dark" || calls < 2 {
		t.Errorf("poll = %v after %d calls, want the condition's error after several", err, calls)
	}
	if err := poll(time.Minute, func() error { return nil }); err != nil {
		t.Errorf("poll of a true condition = %v", err)
	}
}

// A cluster that cannot start says why, and leaves nothing behind.
func TestStartFailure(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	crds := t.TempDir()
	if err := os.WriteFile(filepath.Join(crds, "wrong.yaml"), []byte("apiVersion: v1\nkind: Pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := startCluster(Options{CRDs: crds})
	if err == nil || !strings.Contains(err.Error(), "not a CustomResourceDefinition") {
		t.Fatalf("error = %v, want what localcluster said", err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The components die with localcluster, even when that is killed and can do nothing about it.
func TestNothingOutlivesLocalcluster(t *testing.T) {
	process, err := launch(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer process.stop()
	var pids []int
	for _, component := range []string{Etcd, APIServer} {
		content, err := os.ReadFile(filepath.Join(process.dir, "pids", component))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		Eventually(t, 30*time.Second, func() error { return gone(pid) })
	}
}

// gone returns an error while the process exists and is not just waiting to be collected by its parent.
func gone(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	if _, rest, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(rest, "Z") {
		return nil
	}
	return fmt.Errorf("process %d is alive: %s", pid, stat)
}
