package istiogateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/istiogateway"
	"github.com/signpostd/signpost/dns/sourcetest"
	"github.com/signpostd/signpost/internal/kubetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("testdata/crds")))
}

func TestScenarios(t *testing.T) { sourcetest.Run(t, istiogateway.Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, istiogateway.Plugin(), kubetest.Start(t), "lifecycle")
}

// W12: a Gateway was reported at the start, when its Ingress had not been read yet, as if
// there were no such Ingress.
func TestWaitsForIngresses(t *testing.T) {
	scene := sourcetest.OpenWithout(t, istiogateway.Plugin(), "ingresses", `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: shop, annotations: {external-dns.kubernetes.io/ingress: edge}}
spec: {servers: [{hosts: [shop.example.org]}]}
`)
	if got, want := scene.Records(), "default/shop\n  error wait for the first list of the kind ingress\n"; got != want {
		t.Errorf("before Ingresses are read: got\n%swant\n%s", got, want)
	}
	scene.Changed()
	scene.FillRest()
	kubetest.Eventually(t, 10*time.Second, func() error {
		if changed := scene.Changed(); changed != "default/shop\n" {
			return fmt.Errorf("these are evaluated again: %q", changed)
		}
		return nil
	})
	if got := scene.Records(); !strings.Contains(got, "there is no Ingress default/edge") {
		t.Errorf("after Ingresses are read: got\n%s", got)
	}
}
