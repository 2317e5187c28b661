// Package childprocess runs the servers that tests start. A server ends with the process that started it, at
// the latest. Packages kubetest and bindtest, the tests of DNS providers and the demo use it.
//
// # Concurrency
//
// Everything may be called from any goroutine.
package childprocess

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a program started by [Start].
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a program in a process group of its own. It sets SysProcAttr of the command: when this process
// dies, the kernel sends the program the signal death.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that started the program ends.
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

// Exited returns a channel that is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Pid returns the id of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal. It fails if the program has ended.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop terminates the program, even if it is paused, and returns when it has ended. After the time within, it
// kills the program.
func (p *Process) Stop(within time.Duration) {
	// An error means that the program has ended already.
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
