package clienttest

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A program that ends by itself is an error, with its output; one that is ended is none.
func TestPrograms(t *testing.T) {
	g := &Programs{Dir: t.TempDir(), Target: "build"}
	defer g.Stop()
	for _, with := range []syscall.Signal{0, syscall.SIGKILL} {
		p, err := g.Launch("sleeper", exec.Command("sleep", "600"))
		if err != nil || g.Alive() != nil {
			t.Fatal(err, g.Alive())
		}
		if with == 0 {
			g.End(p, StopWithin)
		} else if err := g.Kill(p, with); err != nil {
			t.Error(err)
		}
		if err := g.Await(t.Context(), "none has ended", func() bool { return true }); err != nil {
			t.Error(err)
		}
	}
	if _, err := g.Launch("quitter", exec.Command("sh", "-c", "echo no such flag")); err != nil {
		t.Fatal(err)
	}
	err := g.Await(t.Context(), "never", func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "quitter has ended") || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("%v", err)
	}
}
