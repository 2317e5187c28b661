package gateway_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// definitions applies the CRDs of the Gateway API to a cluster. They come from its module, in the version of
// dev/gatewayapi, not from a copy.
func definitions(t *testing.T, cluster *kubetest.Cluster, channel string) {
	t.Helper()
	module := sourcetest.ModuleDir(t, "../../../dev/gatewayapi", "sigs.k8s.io/gateway-api")
	dir := t.TempDir()
	for _, plural := range []string{"gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"} {
		file := "gateway.networking.k8s.io_" + plural + ".yaml"
		if err := os.Symlink(filepath.Join(module, "config", "crd", channel, file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	cluster.ApplyCRDs(t, dir)
}
