package contourhttpproxy_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/contourhttpproxy"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("testdata/crds")))
}

func TestScenarios(t *testing.T) { sourcetest.Run(t, contourhttpproxy.Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, contourhttpproxy.Plugin(), kubetest.Start(t), "lifecycle")
}
