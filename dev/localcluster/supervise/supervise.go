// Package supervise keeps one child process running: it starts it, tells when it is ready, starts
// it again when it dies, and takes it down with everything else.
//
// The cluster package uses it for etcd and for each Kubernetes component. What makes it more than exec.Cmd:
//
//   - a child never outlives its parent, even one that was killed (the kernel is asked to send SIGKILL);
//   - a child gets its own process group, so a Ctrl-C in the terminal reaches only the parent, which then stops the
//     children in the right order;
//   - dying before the first readiness is an error with the end of the log in it; dying later is a restart.
//
// Concurrency: every Process is one goroutine, locked to its thread because the kernel ties the
// death signal to the thread that forked. All methods may be called from any goroutine; Spec.Report
// is called from several.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// probeInterval is the time between two questions "are you ready?".
const probeInterval = 50 * time.Millisecond

// tailLines is how much of a log an error message carries.
const tailLines = 20

// Spec says what to run and how. Only Ready and Report may be left out.
type Spec struct {
	Name         string                          // for messages
	Command      []string                        // program and arguments
	LogFile      string                          // gets stdout and stderr, appended
	PIDFile      string                          // exists while the process runs
	RestartDelay time.Duration                   // between a death and the next start
	StopGrace    time.Duration                   // between SIGTERM and SIGKILL; zero means SIGKILL at once
	Ready        func(ctx context.Context) error // nil error: it serves
	Report       func(message string)            // one line for the person at the terminal
}

// Process is a child that is being looked after.
type Process struct {
	spec  Spec
	stop  context.CancelFunc
	ready chan struct{} // closed at the first readiness
	done  chan struct{} // closed when nothing runs any more
	err   error         // valid once done is closed
}

// Start begins running spec. The process is restarted until Stop is called or ctx ends.
func Start(ctx context.Context, spec Spec) *Process {
	if spec.Ready == nil {
		spec.Ready = func(context.Context) error { return nil }
	}
	if spec.Report == nil {
		spec.Report = func(string) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &Process{spec: spec, stop: cancel, ready: make(chan struct{}), done: make(chan struct{})}
	go p.run(ctx)
	return p
}

// Stop ends the process and waits until it is gone.
func (p *Process) Stop() {
	p.stop()
	<-p.done
}

// WaitReady returns nil at the first readiness. If the process died before, the error carries the
// end of its log.
func (p *Process) WaitReady(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-p.done:
		if p.err != nil {
			return p.err
		}
		return fmt.Errorf("start %s: stopped before it was ready", p.spec.Name)
	case <-ctx.Done():
		return fmt.Errorf("start %s: not ready: %w%s", p.spec.Name, context.Cause(ctx), p.logTail())
	}
}

// run is the goroutine of the process: one life after the other.
func (p *Process) run(ctx context.Context) {
	runtime.LockOSThread() // never unlocked: the death signal follows this thread
	defer close(p.done)
	defer p.stop()
	for life := 1; ctx.Err() == nil; life++ {
		err := p.live(ctx, life)
		if ctx.Err() != nil {
			return
		}
		if !p.wasReady() {
			p.err = fmt.Errorf("start %s: %w%s", p.spec.Name, err, p.logTail())
			return
		}
		p.spec.Report(fmt.Sprintf("%s ended (%v), starting again in %s", p.spec.Name, err, p.spec.RestartDelay))
		wait(ctx, p.spec.RestartDelay)
	}
}

// live runs the process once, from start to death.
func (p *Process) live(ctx context.Context, life int) error {
	cmd, err := p.launch()
	if err != nil {
		return err
	}
	defer os.Remove(p.spec.PIDFile)
	exited := make(chan error, 1)
	go func() { exited <- exitReason(cmd.Wait()) }()

	probing, stopProbing := context.WithCancel(ctx)
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		p.probe(probing, life, cmd.Process.Pid)
	}()
	defer func() {
		stopProbing()
		<-probed
	}()

	select {
	case err := <-exited:
		return err
	case <-ctx.Done():
		p.terminate(cmd.Process, exited)
		return ctx.Err()
	}
}

// launch starts the child and writes its pid file.
func (p *Process) launch() (*exec.Cmd, error) {
	log, err := os.OpenFile(p.spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(p.spec.Command[0], p.spec.Command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := writePID(p.spec.PIDFile, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	return cmd, nil
}

// probe asks until the child is ready, then says so.
func (p *Process) probe(ctx context.Context, life, pid int) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		if p.spec.Ready(ctx) == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	if ctx.Err() != nil {
		return
	}
	if p.wasReady() {
		p.spec.Report(fmt.Sprintf("%s ready again (pid %d, start %d)", p.spec.Name, pid, life))
		return
	}
	p.spec.Report(fmt.Sprintf("%s ready (pid %d)", p.spec.Name, pid))
	close(p.ready)
}

// terminate asks politely, then kills. A stopped (SIGSTOP) child is woken so that it can hear the question.
func (p *Process) terminate(child *os.Process, exited <-chan error) {
	if p.spec.StopGrace > 0 {
		_ = child.Signal(syscall.SIGTERM)
		_ = child.Signal(syscall.SIGCONT)
		grace := time.NewTimer(p.spec.StopGrace)
		defer grace.Stop()
		select {
		case <-exited:
			return
		case <-grace.C:
			p.spec.Report(fmt.Sprintf("%s did not end within %s, killing it", p.spec.Name, p.spec.StopGrace))
		}
	}
	_ = child.Kill()
	<-exited
}

func (p *Process) wasReady() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

func (p *Process) logTail() string {
	tail, err := Tail(p.spec.LogFile, tailLines)
	if err != nil || tail == "" {
		return fmt.Sprintf(" (nothing in its log %s)", p.spec.LogFile)
	}
	return fmt.Sprintf("; the end of %s:\n%s", p.spec.LogFile, tail)
}

// exitReason turns the nil error of a clean exit into words: no component is expected to end by itself.
func exitReason(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// wait is a sleep that the context can end.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// writePID writes the file in one step, so that a reader never sees half a number.
func writePID(path string, pid int) error {
	if err := WriteFile(path, []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	return nil
}

// WriteFile replaces the file at path in one step: readers see the old content or all of the new.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
