package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a program that the demo started, which runs until the demo stops it.
type process struct {
	name   string
	log    string // path of what it wrote to its standard error
	cmd    *exec.Cmd
	copied chan struct{} // closed when everything it printed has been read: at its end
}

// start runs a program and hands each line that it prints to line. Its standard
// error goes to a file in the environment's directory.
func (s *environment) start(line func(string), name string, args ...string) error {
	p := &process{name: filepath.Base(name) + " " + args[0], cmd: exec.Command(name, args...), copied: make(chan struct{})}
	p.log = filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", strings.ReplaceAll(p.name, " ", "-"), len(s.processes)))
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd.Stderr = log
	// A group of its own, so that Ctrl-C reaches the demo alone, which then ends its
	// processes in order; and the end of the demo, however it comes, is theirs too.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w: run `make build` first", name, err)
	}
	go p.copy(out, line)
	s.processes = append(s.processes, p)
	return nil
}

func (p *process) copy(out io.Reader, line func(string)) {
	defer close(p.copied)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line(lines.Text())
	}
}

// alive returns an error when the process has ended, with the end of its log.
func (p *process) alive() error {
	select {
	case <-p.copied:
		return fmt.Errorf("%s ended by itself; the end of its log:\n%s", p.name, p.tail())
	default:
		return nil
	}
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-8):], "\n  ")
}

// lines returns the lines of the log with these words.
func (p *process) lines(words string) []string {
	text, _ := os.ReadFile(p.log)
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, "\n") && strings.Contains(line, words) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// stop ends the process and waits for it, killing it if it takes too long.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	<-p.copied
	_ = p.cmd.Wait()
}

// waitFor polls until the condition holds. It gives up when a process ends.
func (s *environment) waitFor(ctx context.Context, what string, limit time.Duration, holds func() (bool, error)) error {
	return s.poll(ctx, wait{what: what, limit: limit, every: 50 * time.Millisecond}, holds)
}

// wait says what is waited for, for how long, and how often it is looked at.
type wait struct {
	what         string
	limit, every time.Duration
}

func (s *environment) poll(ctx context.Context, w wait, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.limit, fmt.Errorf("waited %s in vain for %s", w.limit, w.what))
	defer cancel()
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		for _, p := range s.processes {
			if ended := p.alive(); ended != nil {
				return fmt.Errorf("waiting for %s: %w", w.what, ended)
			}
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
