package recipes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// pages are the pages whose signpost commands must exist.
var pages = []string{
	"../README.md", "README.md", "dns.md", "dns/deletions.md", "dns/troubleshooting.md", "install.md", "look.md", "migrate-controllers.md", "migrate-external-dns.md", "migrate-linkerd.md", "troubleshooting.md", "tutorial.md", "upgrading.md",
}

// TestValues shows that the values on the page are those with which dev/chart tests the chart.
func TestValues(t *testing.T) {
	for _, v := range []struct{ page, block, file string }{
		{"install.md", "dns", "plain"},
		{"install.md", "controllers", "controllers"},
		{"migrate-controllers.md", "values", "controllers"},
	} {
		tried, err := os.ReadFile("../chart/testdata/values/" + v.file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if want := block(t, v.page, v.block); !strings.Contains(string(tried), want) {
			t.Errorf("dev/chart tries\n%s\nand %s has\n%s", tried, v.page, want)
		}
	}
}

// TestPlainManifest shows that the manifest without Helm can be applied, and that its config file is valid.
func TestPlainManifest(t *testing.T) {
	bin := programs(t)
	cluster := kubetest.StartOwn(t, kubetest.Options{}).Cluster
	sh := newShell(t, bin, cluster.Kubeconfig)
	manifest, err := filepath.Abs("../../deploy/signpost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sh.run(t, "kubectl apply -f "+manifest)
	configs, err := cluster.Client.CoreV1().ConfigMaps("signpost").List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=signpost"})
	if err != nil || len(configs.Items) != 1 {
		t.Fatalf("config maps: %v, %v", configs, err)
	}
	path, key := filepath.Join(sh.dir, "signpost.yaml"), filepath.Join(sh.dir, "key")
	// Path of the Secret's file in the pod.
	text := strings.ReplaceAll(configs.Items[0].Data["signpost.yaml"], "/etc/signpost-secrets/0-rfc2136-tsig-secret", key)
	for name, content := range map[string]string{path: text, key: secret} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sh.run(t, "signpost config validate "+path)
	sh.run(t, "signpost rbac --config "+path+" --service-account=signpost/signpost | kubectl apply --dry-run=server -f -")
	// The account of the Deployment has all rights for the config file, so signpost check reports no missing
	// right.
	out := sh.run(t, "signpost check --config "+path+" --as system:serviceaccount:signpost:signpost --timeout 2s || true")
	if rights := regexp.MustCompile(`(?m)^rights of dns\n  ok `); !rights.MatchString(out) {
		t.Errorf("signpost check says\n%s", out)
	}
}

// TestCommandsExist shows that each signpost command on a page exists, with all its flags.
func TestCommandsExist(t *testing.T) {
	command := regexp.MustCompile("(?m)(?:`|^ *|\\| )(?:bin/)?signpost ([a-z][^`|\n]*)")
	help := map[string]string{}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range command.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(found[1])
			name := words[0]
			if name == "config" || name == "xds" && len(words) > 1 && !strings.HasPrefix(words[1], "-") || name == "check" && len(words) > 1 && !strings.HasPrefix(words[1], "-") && words[1] != "ROLE" {
				name += " " + words[1]
			}
			if help[name] == "" {
				if help[name] = helpOf(t, name, "--help"); strings.Contains(help[name], "--help-all") {
					help[name] = helpOf(t, name, "--help-all")
				}
			}
			for _, word := range words {
				flag, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(flag, "--") && !regexp.MustCompile(regexp.QuoteMeta(flag)+`\b`).MatchString(help[name]) {
					t.Errorf("%s: signpost %s has no flag %s", page, name, flag)
				}
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("%d commands were found, want 50 or more", checked)
	}
}

// helpOf returns the output of a command with --help or --help-all.
func helpOf(t *testing.T, name, flag string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "../../bin/signpost", append(strings.Fields(name), flag)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("signpost %s %s: %v: %s", name, flag, err, out.String())
	}
	return out.String()
}
