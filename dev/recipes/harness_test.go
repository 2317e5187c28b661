package recipes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// patience is the time limit for events that normally take a second or two.
const patience = time.Minute

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../deploy/crds")))
}

// blocks returns the named blocks of a page.
func blocks(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found, name, indent := map[string]string{}, "", ""
	inside := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		switch {
		case !inside && strings.HasPrefix(trimmed, "```"):
			inside, indent = true, line[:strings.Index(line, "```")]
			_, name, _ = strings.Cut(trimmed, " recipe=")
			if _, twice := found[name]; twice && name != "" {
				t.Fatalf("%s has two blocks %q", page, name)
			}
		case inside && trimmed == "```":
			inside, name = false, ""
		case inside && name != "":
			found[name] += strings.TrimPrefix(line, indent)
		}
	}
	if inside {
		t.Fatalf("%s: a block has no end", page)
	}
	return found
}

// block returns one block of a page.
func block(t *testing.T, page, name string) string {
	t.Helper()
	text, there := blocks(t, page)[name]
	if !there {
		t.Fatalf("docs/%s has no block recipe=%s", page, name)
	}
	return text
}

// programs returns a directory with the programs of bin/ under all their names.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, path := range map[string]string{"signpost": "signpost", "external-dns": "signpost", "localcluster": "localcluster", "kubectl": "kubectl"} {
		target, err := filepath.Abs(filepath.Join("../../bin", path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(target); err != nil {
			t.Fatalf("%v: run make build bin/kubectl", err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A shell runs the commands of pages.
type shell struct {
	dir string   // working directory
	env []string // includes PATH and KUBECONFIG
}

// newShell returns a shell for the administrator of a cluster.
func newShell(t *testing.T, bin, kubeconfig string, env ...string) shell {
	t.Helper()
	own := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	return shell{dir: t.TempDir(), env: append(own, env...)}
}

// run returns the standard output of a script, and fails the test if a command fails.
func (s shell) run(t *testing.T, script string) string {
	t.Helper()
	out, err := s.try(t, script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// try returns the standard output of a script, and its error.
func (s shell) try(t *testing.T, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-euc", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w:\n%s\nit printed:\n%s%s", err, script, out.String(), stderr.String())
	}
	return out.String(), nil
}

// start starts a program of a directory until the test ends. admin is the address that serves /ready.
func start(t *testing.T, bin, name, admin string, env []string, args ...string) *programtest.Program {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Env = append(os.Environ(), env...)
	return programtest.Start(t, cmd, admin)
}

// wantAllowed fails the test if the API server has refused a request of a program.
func wantAllowed(t *testing.T, p *programtest.Program) {
	t.Helper()
	if refused := p.LinesWith("forbidden"); len(refused) > 0 {
		t.Errorf("something is refused:\n%s", strings.Join(refused, "\n"))
	}
}
