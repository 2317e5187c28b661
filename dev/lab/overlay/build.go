package overlay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildSignpost builds the command signpost with the edits, and writes the binary to out. It
// compiles the packages that the edits change and those above them; Go's build cache keeps the
// result, so that a second build with the same edits is quick. The working directory must be in the
// repository, or its error says so. Builds may run at the same time.
func BuildSignpost(ctx context.Context, out string, edits ...Edit) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	return run(ctx, edits, "build", "-trimpath", "-o", out, "./cmd/signpost")
}

// run runs the go command in the directory of the module, with an overlay of the edits. Its error
// ends with what the command printed.
func run(ctx context.Context, edits []Edit, command string, args ...string) error {
	trees, err := findTrees(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "signpost-overlay-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	list, err := trees.write(dir, edits)
	if err != nil {
		return err
	}
	_, err = goCommand(ctx, trees.module, append([]string{command, "-overlay", list}, args...)...)
	return err
}

// findTrees asks the go command where the module of the working directory is, and where Go is.
func findTrees(ctx context.Context) (trees, error) {
	printed, err := goCommand(ctx, "", "env", "GOMOD", "GOROOT")
	if err != nil {
		return trees{}, err
	}
	mod, goroot, _ := strings.Cut(strings.TrimSpace(printed), "\n")
	t := trees{module: filepath.Dir(mod), goroot: goroot}
	if _, err := os.Stat(t.path("cmd/signpost")); err != nil {
		return trees{}, fmt.Errorf("find Signpost's sources: the working directory is not in their repository: %w", err)
	}
	return t, nil
}

// goCommand runs the go command in dir and returns what it printed. It builds without cgo, as
// bin/signpost is built.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run go %s: %w\n%s%s", strings.Join(args, " "), err, printed, stderr.String())
	}
	return string(printed), nil
}
