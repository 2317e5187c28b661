// Package measure has what all benches share: processes with their CPU time and memory, local clusters,
// Signpost's admin server, polling, and the report with its limits.
//
// A bench is a value (Bench) that its package returns from a function Benches, and main.go lists. It prints
// figures to a Report as they come. A figure that misses its limit is counted, and fails the run at the end.
// Nothing here is for several goroutines, unless a comment says so.
package measure

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signpostd/signpost/dev/clienttest"
)

// Process is a program that the benchmark started. It ends with the benchmark at the latest.
type Process struct{ *clienttest.Program }

// Start runs a program whose output goes to a file in dir.
func Start(ctx context.Context, dir, name string, args ...string) (*Process, error) {
	return StartWith(ctx, dir, nil, name, args...)
}

// StartWith is start with further variables of the environment.
func StartWith(ctx context.Context, dir string, env []string, name string, args ...string) (*Process, error) {
	base := filepath.Base(name)
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	p, err := clienttest.Start(base, filepath.Join(dir, base+".log"), cmd, syscall.SIGTERM)
	if err != nil {
		return nil, fmt.Errorf("%w: run `make build` first", err)
	}
	context.AfterFunc(ctx, func() { _ = p.Signal(syscall.SIGTERM) })
	return &Process{p}, nil
}

// StartSelf runs a command of this program as a process of its own, with a niceness.
func StartSelf(ctx context.Context, dir string, nice int, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return Start(ctx, dir, "nice", append([]string{"-n", strconv.Itoa(nice), self}, args...)...)
}

// stopWithin is how long a program may take to end.
const stopWithin = time.Minute

// Stop ends the process and waits for it.
func (p *Process) Stop() { p.Program.Stop(stopWithin) }

// PeakMemory returns the most memory that was ever resident, in bytes.
func (p *Process) PeakMemory() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		return 0, fmt.Errorf("read the memory of %s: %w", p.Name, err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kB, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kB * 1024, err
}

// ForgetPeak makes PeakMemory count from now on.
func (p *Process) ForgetPeak() error {
	// See proc_pid_clear_refs(5).
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Pid()), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak memory of %s: %w", p.Name, err)
	}
	return nil
}

// LastLine returns the last line that the process wrote.
func (p *Process) LastLine() string {
	log, _ := os.ReadFile(p.Log)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return lines[len(lines)-1]
}

// Mebibyte is the unit of memory in reports.
const Mebibyte = 1 << 20

// Usage is what a process has used so far: CPU time and resident memory in bytes.
type Usage struct {
	Cpu time.Duration
	Rss float64
}

// CpuTime reads the CPU clock of the process, which counts nanoseconds where /proc counts hundredths of a
// second.
func (p *Process) CpuTime() (time.Duration, error) {
	var cpu unix.Timespec
	if err := unix.ClockGettime(cpuClock(p.Pid()), &cpu); err != nil {
		return 0, fmt.Errorf("read the CPU clock of %s: %w: see %s", p.Name, err, p.Log)
	}
	return time.Duration(cpu.Nano()), nil
}

// Usage returns the CPU time and the memory that the process uses.
func (p *Process) Usage() (Usage, error) {
	cpu, err := p.CpuTime()
	if err != nil {
		return Usage{}, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid()))
	if err != nil {
		return Usage{}, fmt.Errorf("read the memory of %s: %w: see %s", p.Name, err, p.Log)
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return Usage{}, fmt.Errorf("read the memory of %s: %q has no second number", p.Name, b)
	}
	pages, err := strconv.Atoi(f[1])
	return Usage{cpu, float64(pages) * float64(os.Getpagesize())}, err
}

// CpuOf returns the CPU time that the process uses while do runs.
func (p *Process) CpuOf(do func() error) (time.Duration, error) {
	before, err := p.CpuTime()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := p.CpuTime()
	return after - before, err
}

// AwaitLine waits until the last line that the process wrote is the wanted one, or the process has ended.
func (p *Process) AwaitLine(ctx context.Context, limit time.Duration, wanted func(line string) bool) error {
	err := PollSlowly(ctx, limit, func() bool { return wanted(p.LastLine()) || p.Ended() != nil })
	return cmp.Or(err, p.Ended())
}

// cpuClock returns the clock of all threads of a process, as clock_getcpuclockid(3) makes it.
func cpuClock(pid int) int32 { return int32(^pid)<<3 | 2 }

// WaitLimit is the time limit for everything that is awaited.
const WaitLimit = 3 * time.Minute

// A process is idle that uses less than idleCPU in IdleWindow.
const (
	IdleWindow = 2 * time.Second
	idleCPU    = 20 * time.Millisecond
)

// UntilIdle waits until the process has done next to nothing for IdleWindow and
// returns the CPU time that it had used before that.
func UntilIdle(ctx context.Context, p *Process) (time.Duration, error) {
	const step = 100 * time.Millisecond
	const steps = int(IdleWindow / step)
	ctx, cancel := context.WithTimeoutCause(ctx, WaitLimit, ErrTimeout)
	defer cancel()
	var samples []time.Duration
	for {
		u, err := p.Usage()
		if err != nil {
			return 0, err
		}
		samples = append(samples, u.Cpu)
		if past := len(samples) - 1 - steps; past >= 0 && u.Cpu-samples[past] < idleCPU {
			return samples[past], nil
		}
		if Pause(ctx, step) != nil {
			return 0, context.Cause(ctx)
		}
	}
}
