package workload

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs(filepath.Join("..", "..", "..", "deploy", "crds"))))
}
