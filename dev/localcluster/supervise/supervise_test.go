package supervise_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/localcluster/supervise"
)

const patience = 20 * time.Second

// shell returns the spec of a child that runs a shell script; what it reports goes to the channel.
func shell(t *testing.T, script string) (supervise.Spec, <-chan string) {
	t.Helper()
	dir := t.TempDir()
	reports := make(chan string, 100)
	return supervise.Spec{
		Name:         "child",
		Command:      []string{"/bin/sh", "-c", script},
		LogFile:      filepath.Join(dir, "log"),
		PIDFile:      filepath.Join(dir, "pid"),
		RestartDelay: time.Millisecond,
		StopGrace:    patience,
		Report:       func(message string) { reports <- message },
	}, reports
}

func readPID(t *testing.T, spec supervise.Spec) int {
	t.Helper()
	content, err := os.ReadFile(spec.PIDFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// await reads reports until one contains text.
func await(t *testing.T, reports <-chan string, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case report := <-reports:
			if strings.Contains(report, text) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("nobody reported %q", text)
		}
	}
}

func TestDeadChildIsStartedAgain(t *testing.T) {
	spec, reports := shell(t, "exec sleep 1000")
	process := supervise.Start(t.Context(), spec)
	defer process.Stop()
	if err := process.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := readPID(t, spec)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, reports, "child ended (signal: killed)")
	await(t, reports, "child ready again")
	second := readPID(t, spec)
	if second == first {
		t.Errorf("still pid %d", first)
	}
	process.Stop()
	if err := syscall.Kill(second, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("pid %d after Stop: %v, want no such process", second, err)
	}
	if _, err := os.Stat(spec.PIDFile); !os.IsNotExist(err) {
		t.Errorf("pid file after Stop: %v", err)
	}
}

func TestDeathBeforeReadinessIsAnError(t *testing.T) {
	spec, _ := shell(t, "echo bad flag >&2; exit 3")
	spec.Ready = func(context.Context) error { return errors.New("not yet") }
	process := supervise.Start(t.Context(), spec)
	err := process.WaitReady(t.Context())
	for _, want := range []string{"start child", "exit status 3", "bad flag"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q in it", err, want)
		}
	}
	process.Stop()
}

func TestSlowStartGivesUp(t *testing.T) {
	spec, _ := shell(t, "exec sleep 1000")
	spec.Ready = func(context.Context) error { return errors.New("not yet") }
	spec.StopGrace = 0
	process := supervise.Start(t.Context(), spec)
	defer process.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := process.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want a timeout", err)
	}
}

func TestStubbornOrFrozenChildIsKilled(t *testing.T) {
	spec, _ := shell(t, `trap "" TERM; while :; do sleep 1000; done`)
	spec.StopGrace = 50 * time.Millisecond
	process := supervise.Start(t.Context(), spec)
	if err := process.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(readPID(t, spec), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	process.Stop()
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("x\n", 100_000)+"last but one\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := supervise.Tail(path, 2)
	if want := "last but one\nlast"; err != nil || got != want {
		t.Errorf("Tail = %q, %v; want %q", got, err, want)
	}
}
