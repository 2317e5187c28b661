package walkthrough

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stopTime is how long a command may take to end after an interrupt.
const stopTime = 10 * time.Second

// Copy is a copy of the repository, in which the commands of pages run. Keep using the same directory,
// because go caches test results by the files that a test has read.
type Copy struct {
	// Root is the path of the repository, Dir that of the copy, which the Copy owns.
	Root, Dir string
}

// left are the top-level directories that are not copied: build results, and the history.
var left = []string{".git", "bin"}

// Renew makes the copy equal to the repository.
func (c Copy) Renew() error {
	if err := os.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("remove the old copy of the repository: %w", err)
	}
	tree := os.DirFS(c.Root)
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(left, path):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil // In a worktree, .git is a file.
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(c.Dir, path), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		return c.copyFile(tree, path, entry)
	})
	if err != nil {
		return fmt.Errorf("copy the repository to %s: %w", c.Dir, err)
	}
	return nil
}

// copyFile copies a file with its modification time, which go uses to detect changes.
func (c Copy) copyFile(tree fs.FS, path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	text, err := fs.ReadFile(tree, path)
	if err != nil {
		return err
	}
	to := filepath.Join(c.Dir, path)
	if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// Run runs a command in the copy, after it has written the files of a page there. It is an error if no test
// of a named package runs.
func (c Copy) Run(ctx context.Context, command Command, files Files) error {
	for path, text := range files {
		if err := c.write(path, text); err != nil {
			return fmt.Errorf("put %s into the copy of the repository: %w", path, err)
		}
	}
	args := command.Words[1:]
	tests := args[0] == "test"
	if tests {
		args = slices.Insert(slices.Clone(args), 1, "-json")
	}
	cmd := exec.CommandContext(ctx, command.Words[0], args...)
	cmd.Dir = c.Dir
	// The same environment as in the Makefile reuses its build cache. A copy has no history.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+c.Dir, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false -trimpath -gcflags=all=-dwarf=false"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	out, err := cmd.CombinedOutput()
	if tests {
		return checkTests(err, out)
	}
	if err != nil {
		return fmt.Errorf("%w; it said:\n%s", err, out)
	}
	return nil
}

// write writes a file into the copy, unless its content is already right.
func (c Copy) write(path, text string) error {
	to := filepath.Join(c.Dir, filepath.FromSlash(path))
	old, err := os.ReadFile(to)
	if err == nil && string(old) == text {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text), 0o644)
}
