package istiogateway_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/istiogateway"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

func TestScenarios(t *testing.T) { sourcetest.Run(t, istiogateway.Plugin()) }

// The API server has the definition of Istio itself.
func TestRealAPIServer(t *testing.T) {
	cluster := kubetest.Start(t)
	sourcetest.ApplyDefinitions(t, cluster,
		filepath.Join(sourcetest.ModuleDir(t, "../../../dev/istioapi", "istio.io/api"), "kubernetes", "customresourcedefinitions.gen.yaml"),
		"gateways.networking.istio.io")
	sourcetest.RunReal(t, istiogateway.Plugin(), cluster, "lifecycle")
}

// TestWaitsForIngresses shows that a Gateway has no problem at the start, before its Ingress was read (W12).
func TestWaitsForIngresses(t *testing.T) {
	fixture := sourcetest.OpenWithout(t, istiogateway.Plugin(), "ingresses", `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: shop, annotations: {external-dns.kubernetes.io/ingress: edge}}
spec: {servers: [{hosts: [shop.example.org]}]}
`)
	if got, want := fixture.Records(), "default/shop\n  error wait for the first list of the kind ingress\n"; got != want {
		t.Errorf("before Ingresses are read: got\n%swant\n%s", got, want)
	}
	fixture.Changed()
	fixture.FillRest()
	kubetest.Eventually(t, 10*time.Second, func() error {
		if changed := fixture.Changed(); changed != "default/shop\n" {
			return fmt.Errorf("these are evaluated again: %q", changed)
		}
		return nil
	})
	if got := fixture.Records(); !strings.Contains(got, "there is no Ingress default/edge") {
		t.Errorf("after Ingresses are read: got\n%s", got)
	}
}
