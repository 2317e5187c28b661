package recipes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
)

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
