package contouringressroute_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/contouringressroute"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScenarios(t *testing.T) { sourcetest.Run(t, contouringressroute.Plugin()) }

// TestWaitsForServices shows that an IngressRoute has no problem at the start, before Contour's Service was
// read (W12).
func TestWaitsForServices(t *testing.T) {
	fixture := sourcetest.OpenWithout(t, contouringressroute.Plugin(), "services", `
apiVersion: contour.heptio.com/v1beta1
kind: IngressRoute
metadata: {name: shop}
spec: {virtualhost: {fqdn: www.example.org}}
status: {currentStatus: valid}
`)
	if got, want := fixture.Records(), "default/shop\n  error wait for the first list of the kind service\n"; got != want {
		t.Errorf("before Services are read: got\n%swant\n%s", got, want)
	}
	fixture.Changed()
	fixture.FillRest()
	kubetest.Eventually(t, 10*time.Second, func() error {
		if changed := fixture.Changed(); changed != "default/shop\n" {
			return fmt.Errorf("these are evaluated again: %q", changed)
		}
		return nil
	})
	if got := fixture.Records(); !strings.Contains(got, "there is no such Service") {
		t.Errorf("after Services are read: got\n%s", got)
	}
}
