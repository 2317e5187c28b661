package witness

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// patience is the time limit for events that normally take a second or two.
const patience = time.Minute

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../../deploy/crds")))
}

// background runs f until end is called, which may be twice, or the test ends. end returns the result of f.
func background(t *testing.T, f func(context.Context) error) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return end
}

// soon returns a context with the time limit patience.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until condition returns "", and reports its last result otherwise.
func eventually(t *testing.T, condition func() (missing string)) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		if missing := condition(); missing != "" {
			return fmt.Errorf("missing: %s", missing)
		}
		return nil
	})
}
