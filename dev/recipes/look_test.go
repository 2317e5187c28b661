package recipes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// exits2 returns a script that succeeds if a command ends with exit code 2, which means changes.
func exits2(command string) string { return strings.TrimSpace(command) + " || test $? = 2" }

// TestReadme shows that the first command of README.md prints the output on the page, with the files in
// examples/plan.
func TestReadme(t *testing.T) {
	page := blocks(t, "../README.md")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, programs(t), "/dev/null")
	sh.dir = root
	if out, want := sh.run(t, exits2(page["plan"])), shown(page["plan-out"]); !want.MatchString(out) {
		t.Errorf("the plan is\n%s\nand the page shows\n%s", out, page["plan-out"])
	}
}

// TestLook shows that the commands of docs/look.md print the output on the page. A process of Signpost
// replaces Linkerd's controller.
func TestLook(t *testing.T) {
	bin := programs(t)
	page := blocks(t, "look.md")
	cluster := kubetest.Start(t)
	sh := newShell(t, bin, "/dev/null")
	for name, text := range map[string]string{"shop.yaml": page["shop.yaml"], "example.org.zone": page["zone"]} {
		if err := os.WriteFile(filepath.Join(sh.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, want := sh.run(t, exits2(page["plan"])), shown(page["plan-out"]); !want.MatchString(out) {
		t.Errorf("the plan is\n%s\nand the page shows\n%s", out, page["plan-out"])
	}

	cluster.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "")
	cluster.Apply(t, web("10.1.0.1", "10.1.0.2"), "shop")
	admin, addr := kubetest.Address(t), kubetest.Address(t)
	linkerd := start(t, bin, "signpost", admin, nil, "destination", "-addr="+addr, "-metrics-addr="+admin, "-kubeconfig="+cluster.Kubeconfig,
		"-controller-namespace=linkerd", "-cluster-domain=cluster.local", "-identity-trust-domain=cluster.local", "-enable-ipv6=false", "-external-workload-writer=false")
	linkerd.AwaitReady(t)
	out := sh.run(t, strings.ReplaceAll(page["get"], "127.0.0.1:8086", addr))
	for _, want := range []string{"10.1.0.1", "10.1.0.2", "web.shop.svc.cluster.local"} {
		if !strings.Contains(out, want) {
			t.Errorf("the clients print\n%s\nwithout %s", out, want)
		}
	}
}
