package kubetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const (
	startTimeout = 3 * time.Minute // localcluster gives up earlier, with a better message
	stopTimeout  = 15 * time.Second
)

// process is a running `localcluster up`.
type process struct {
	dir    string
	cmd    *exec.Cmd
	output *os.File      // has no name any more: it goes away with the last process that has it open
	exited chan struct{} // closed when localcluster is gone
}

// launch starts localcluster and waits until its cluster is ready.
func launch(options Options) (*process, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the cluster: %w", err)
	}
	output, err := namelessFile(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &process{dir: dir, cmd: exec.Command(binary, options.args(dir)...), output: output, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	// When the test binary dies without a chance to stop it, localcluster ends itself and removes its directory.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := p.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start localcluster: %w", err), output.Close(), os.RemoveAll(dir))
	}
	if err := p.waitReady(); err != nil {
		said := p.said()
		p.stop()
		return nil, fmt.Errorf("start a cluster: %w; localcluster said:\n%s", err, said)
	}
	return p, nil
}

// start starts the process and leaves a goroutine behind that waits for its end. It is locked to its thread, because the
// kernel sends the death signal when the thread that forked ends.
func (p *process) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		close(p.exited)
	}()
	return <-started
}

// waitReady returns when the kubeconfig is there, which means ready, or when it will never be.
func (p *process) waitReady() error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := os.Stat(p.kubeconfig()); err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return errors.New("localcluster ended")
		case <-deadline.C:
			return fmt.Errorf("not ready after %s", startTimeout)
		case <-tick.C:
		}
	}
}

func (p *process) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

// said returns what localcluster wrote: a line per component, and the end of the log of the one that failed.
func (p *process) said() string {
	var text bytes.Buffer
	_, _ = io.Copy(&text, io.NewSectionReader(p.output, 0, 1<<20))
	return text.String()
}

// stop ends the cluster and waits until nothing of it is left.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	deadline := time.NewTimer(stopTimeout)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
	_ = p.output.Close()
	_ = os.RemoveAll(p.dir)
}

// namelessFile returns an open file that nobody has to remove.
func namelessFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, fmt.Errorf("make a file for the output of localcluster: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make a file for the output of localcluster: %w", err), file.Close())
	}
	return file, nil
}
