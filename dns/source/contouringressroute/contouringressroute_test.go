package contouringressroute_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/contouringressroute"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScenarios(t *testing.T) { sourcetest.Run(t, contouringressroute.Plugin()) }

// TestWaitsForServices shows that an IngressRoute has no problem at the start, before Contour's Service was
// read (W12).
func TestWaitsForServices(t *testing.T) {
	sourcetest.Waits(t, contouringressroute.Plugin(), "services", `
apiVersion: contour.heptio.com/v1beta1
kind: IngressRoute
metadata: {name: shop}
spec: {virtualhost: {fqdn: www.example.org}}
status: {currentStatus: valid}
`, "default/shop", "service", "there is no such Service")
}
