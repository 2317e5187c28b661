package istiogateway_test

import (
	"path/filepath"
	"testing"

	"github.com/signpostd/signpost/dns/source/istiogateway"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, istiogateway.Plugin()) }

// The API server has the definition of Istio itself.
func TestRealAPIServer(t *testing.T) {
	sourcetest.ApplyDefinitions(t,
		filepath.Join(sourcetest.ModuleDir(t, "../../../dev/istioapi", "istio.io/api"), "kubernetes", "customresourcedefinitions.gen.yaml"),
		"gateways.networking.istio.io")
	sourcetest.RunReal(t, istiogateway.Plugin(), "lifecycle")
}

// TestWaitsForIngresses shows that a Gateway has no problem at the start, before its Ingress was read (W12).
func TestWaitsForIngresses(t *testing.T) {
	sourcetest.Waits(t, istiogateway.Plugin(), "ingresses", `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: shop, annotations: {external-dns.kubernetes.io/ingress: edge}}
spec: {servers: [{hosts: [shop.example.org]}]}
`, "default/shop", "ingress", "there is no Ingress default/edge")
}
