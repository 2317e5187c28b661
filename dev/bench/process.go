package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// process is a program that the benchmark started. It ends with the benchmark at the latest.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan error
	log  string
}

// start runs a program whose output goes to a file in dir.
func start(ctx context.Context, dir, name string, args ...string) (*process, error) {
	return startWith(ctx, dir, nil, name, args...)
}

// startWith is start with further variables of the environment.
func startWith(ctx context.Context, dir string, env []string, name string, args ...string) (*process, error) {
	path := filepath.Join(dir, filepath.Base(name)+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: filepath.Base(name), cmd: exec.CommandContext(ctx, name, args...), done: make(chan error, 1), log: path}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: run `make build` first", name, err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// stop ends the process and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
}

// ended returns an error if the process has ended by itself, with the last lines
// that it wrote.
func (p *process) ended() error {
	select {
	case err := <-p.done:
		p.done <- err // for stop
		log, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s ended (%w): %s", p.name, err, log[max(0, len(log)-2000):])
	default:
		return nil
	}
}

// peakMemory returns the most memory that was ever resident, in bytes.
func (p *process) peakMemory() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of %s: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kB, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kB * 1024, err
}

// forgetPeak makes peakMemory count from now on.
func (p *process) forgetPeak() error {
	// See proc_pid_clear_refs(5).
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak memory of %s: %w", p.name, err)
	}
	return nil
}

// lastLine returns the last line that the process wrote.
func (p *process) lastLine() string {
	log, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return lines[len(lines)-1]
}

// usage is what a process has used so far: CPU time and resident memory in bytes.
type usage struct {
	cpu time.Duration
	rss float64
}

// usage reads the CPU clock of the process, which counts nanoseconds where /proc counts
// hundredths of a second, and its memory.
func (p *process) usage() (usage, error) {
	pid := p.cmd.Process.Pid
	var cpu unix.Timespec
	if err := unix.ClockGettime(cpuClock(pid), &cpu); err != nil {
		return usage{}, fmt.Errorf("read the CPU clock of %s: %w: see %s", p.name, err, p.log)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return usage{}, fmt.Errorf("read the memory of %s: %w: see %s", p.name, err, p.log)
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return usage{}, fmt.Errorf("read the memory of %s: %q has no second number", p.name, b)
	}
	pages, err := strconv.Atoi(f[1])
	return usage{time.Duration(cpu.Nano()), float64(pages) * float64(os.Getpagesize())}, err
}

// cpuClock returns the clock of all threads of a process, as clock_getcpuclockid(3) makes it.
func cpuClock(pid int) int32 { return int32(^pid)<<3 | 2 }

// cluster is an API server with its own etcd.
type cluster struct {
	*process
	dir, kubeconfig string
	client          *kubernetes.Clientset
}

// startCluster starts an API server that comes back after restartDelay when it
// is killed.
func startCluster(ctx context.Context, restartDelay time.Duration) (*cluster, error) {
	dir, err := os.MkdirTemp("", "signpost-bench-")
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, dir, "bin/localcluster", "up", "--dir", dir, "--crds", "deploy/crds",
		"--components", "etcd,kube-apiserver", "--nodes", "0", "--restart-delay", restartDelay.String())
	if err != nil {
		return nil, err
	}
	c := &cluster{process: p, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := c.connect(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) connect(ctx context.Context) error {
	err := poll(ctx, 2*time.Minute, func() bool {
		_, err := os.Stat(c.kubeconfig)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("start the local cluster: %w: see %s", err, c.log)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.kubeconfig, err)
	}
	config.QPS, config.Burst = 5000, 5000
	c.client, err = kubernetes.NewForConfig(config)
	return err
}

func (c *cluster) stop() {
	c.process.stop()
	_ = os.RemoveAll(c.dir)
}

// killAPIServer ends the API server as a crash would.
func (c *cluster) killAPIServer() error {
	f, err := os.Open(filepath.Join(c.dir, "pids", "kube-apiserver"))
	if err != nil {
		return err
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return fmt.Errorf("read the process id of the API server: %w", err)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// serves reports whether the API server says that it is ready.
func (c *cluster) serves(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
}

var errTimeout = errors.New("it took too long")

// poll waits until the condition holds, looking often enough for latencies of
// milliseconds.
func poll(ctx context.Context, limit time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
