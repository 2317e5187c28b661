// Package childprocess runs the servers that tests start: processes that live as long as
// somebody wants them, and no longer than the process that started them.
//
// Packages kubetest and bindtest start theirs with it, and the tests of DNS providers; the
// demo takes its ports from [Port]. Everything here may be called from any goroutine.
package childprocess

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a program that was started.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a program in a process group of its own; it replaces what the command says
// of that. When this process dies, the kernel sends the program a signal.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that forked ends.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Exited returns a channel that is closed when the program is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Pid returns the id of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal. It fails when the program is gone.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop ends the program, also one that is paused, and returns when it is gone. After the
// time given it is killed.
func (p *Process) Stop(within time.Duration) {
	// One that has ended by itself can't be told to; what counts is that it is gone.
	_ = p.Signal(syscall.SIGTERM)
	_ = p.Signal(syscall.SIGCONT)
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}
