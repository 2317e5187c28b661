package externalworkload_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/externalworkload"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../../deploy/crds")))
}

func TestScenarios(t *testing.T) { sourcetest.Run(t, externalworkload.Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, externalworkload.Plugin(), kubetest.Start(t), "real")
}
