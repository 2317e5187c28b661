package recipes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// The commands of the tutorial work in the order of the page, and print what it shows. Only ports are others.
func TestTutorial(t *testing.T) {
	bin := programs(t)
	page := blocks(t, "tutorial.md")
	dir := t.TempDir()
	link(t, bin, filepath.Join(dir, "bin"))
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	link(t, deploy, filepath.Join(dir, "deploy"))
	admin, grpc, dns := freeAddress(t), freeAddress(t), freeAddress(t)
	_, dnsPort, _ := strings.Cut(dns, ":")
	ports := strings.NewReplacer("127.0.0.1:9996", admin, "127.0.0.1:8086", grpc, "5300", dnsPort)
	sh := newShell(t, bin, filepath.Join(dir, "tutorial/kubeconfig"))
	sh.dir = dir

	begin := func(name string) *process { return sh.start(t, admin, ports.Replace(page[name])) }
	begin("cluster")
	kubetest.Eventually(t, 2*patience, func() error { _, err := os.Stat(filepath.Join(dir, "tutorial/kubeconfig")); return err })
	sh.await(t, "kubectl get serviceaccount default -o name", "serviceaccount/default")
	for _, file := range []string{"named.conf", "example.org.zone", "signpost.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, "tutorial", file), []byte(ports.Replace(page[file])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	steps := 0
	for i := 1; page[fmt.Sprintf("step%d", i)] != ""; i++ {
		name := fmt.Sprintf("step%d", i)
		script, want := ports.Replace(page[name]), page[name+"-out"]
		switch i {
		case 2:
			begin("named")
			sh.await(t, "dig +short @127.0.0.1 -p "+dnsPort+" ns1.example.org", "127.0.0.1")
		case 3:
			begin("signpost").awaitReady(t)
		}
		if i == 1 || want == "" {
			out := sh.run(t, script) // It makes something, so it runs once.
			if pattern := shown(want); !pattern.MatchString(out) || i == 1 && strings.Contains(out, "web-") {
				t.Errorf("%s printed\n%s\nand the page shows\n%s", name, out, want)
			}
		} else {
			sh.await(t, script, want)
		}
		steps++
	}
	if steps != 11 {
		t.Errorf("the page has %d steps, want 11", steps)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// start starts a command of a page that runs until the end of the test.
func (s shell) start(t *testing.T, admin, command string) *process {
	t.Helper()
	return start(t, "/bin", "sh", admin, s.env, "-euc", "cd "+s.dir+" && exec "+strings.TrimSpace(command))
}

// shown returns a pattern for what a page shows: its lines in their order, with others between them. … is any text.
func shown(text string) *regexp.Regexp {
	text = regexp.MustCompile(` +`).ReplaceAllString(regexp.QuoteMeta(strings.TrimSpace(text)), ` +`)
	lines := strings.Split(strings.ReplaceAll(text, "…", ".*"), "\n")
	return regexp.MustCompile(`(?m)^` + strings.Join(lines, `[ ]*\n(?s:.*\n)?`) + `[ ]*$`)
}

// await repeats a command until it prints what the page shows.
func (s shell) await(t *testing.T, script, page string) {
	t.Helper()
	want := shown(page)
	kubetest.Eventually(t, patience, func() error {
		out, err := s.try(t, script)
		if err == nil && !want.MatchString(out) {
			err = fmt.Errorf("%s\nprinted\n%s\nand the page shows\n%s", script, out, want)
		}
		return err
	})
}
