package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a program that the demo started.
type process struct {
	name   string
	cmd    *exec.Cmd
	copied chan struct{} // closed when everything it printed has been read
}

// start runs a program and hands each line that it prints to line. Its standard
// error goes to a file in the stage's directory.
func (s *stage) start(line func(string), name string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", filepath.Base(name), len(s.processes))))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: filepath.Base(name), cmd: exec.Command(name, args...), copied: make(chan struct{})}
	p.cmd.Stderr = log
	// A group of its own, so that Ctrl-C reaches the demo alone, which then ends its
	// processes in order; and the end of the demo, however it comes, is theirs too.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: `make build` makes it", name, err)
	}
	go p.copy(out, line)
	s.processes = append(s.processes, p)
	return p, nil
}

func (p *process) copy(out io.Reader, line func(string)) {
	defer close(p.copied)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line(lines.Text())
	}
}

// stop ends the process and waits for it, killing it if it takes too long.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	<-p.copied
	_ = p.cmd.Wait()
}

// waitFor polls until the condition holds.
func waitFor(ctx context.Context, what string, limit time.Duration, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("waited %s in vain for %s", limit, what))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
