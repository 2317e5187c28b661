package portforward_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m),
		// A connection that was closed waits for its streams, whose other ends are in this process.
		goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}
