package gateway_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/signpostd/signpost/internal/kubetest"
)

// definitions applies the definitions of the Gateway API's kinds to a cluster. They are read
// from its module, in the version that dev/gatewayapi names, and never from a copy.
func definitions(t *testing.T, cluster *kubetest.Cluster, channel string) {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-C", filepath.FromSlash("../../../dev/gatewayapi"), "-json", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("find the module of the Gateway API: %v", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, plural := range []string{"gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"} {
		file := "gateway.networking.k8s.io_" + plural + ".yaml"
		if err := os.Symlink(filepath.Join(module.Dir, "config", "crd", channel, file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	cluster.ApplyCRDs(t, dir)
}
