package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/internal/childprocess"
)

// stopGrace is how long a process may take to end at the end of a run.
const stopGrace = 15 * time.Second

// child is a program that the lab started.
type child struct {
	*childprocess.Process
	name, log string
}

// startChild starts a program and appends its output to the file at log.
func startChild(name, log, program string, env []string, args ...string) (*child, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	p, err := childprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w: run `make build` first", name, err)
	}
	return &child{p, name, log}, nil
}

// ended returns an error with the last output if the program has ended.
func (c *child) ended() error {
	select {
	case <-c.Exited():
		text, _ := os.ReadFile(c.log)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return fmt.Errorf("%s ended by itself; its last lines:\n  %s", c.name, strings.Join(lines[max(0, len(lines)-8):], "\n  "))
	default:
		return nil
	}
}

// await polls until the condition holds.
func await(ctx context.Context, what string, limit time.Duration, holds func() (bool, error)) error {
	return clienttest.Until(ctx, what, limit, 50*time.Millisecond, holds)
}

// exists reports whether there is a file at a path.
func exists(elements ...string) (bool, error) {
	_, err := os.Stat(filepath.Join(elements...))
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}
