package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
)

// start runs a program and hands each line that it prints to line. Its standard
// error goes to a file in the environment's directory.
func (s *environment) start(line func(string), name string, args ...string) error {
	s.started++
	cmd := exec.Command(name, args...)
	cmd.Stdout = &lineWriter{line: line}
	_, err := s.programs.Launch(fmt.Sprintf("%s-%s-%d", filepath.Base(name), args[0], s.started), cmd)
	return err
}

// lineWriter hands each complete line to a function.
type lineWriter struct {
	line func(string)
	rest []byte
}

// Write implements [io.Writer].
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		before, after, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.line(string(before))
		w.rest = after
	}
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return clienttest.Until(ctx, w.what, w.limit, w.every, func() (bool, error) {
		ok, err := holds()
		if ended := s.programs.Alive(); ended != nil {
			cancel(fmt.Errorf("waiting for %s: %w", w.what, ended))
		}
		return ok, err
	})
}
