package witness

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// patience is how long something may take that is normally there within a second or two.
const patience = time.Minute

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../../deploy/crds")))
}

// newRecorder returns a recorder of a history that nobody reads from its file.
func newRecorder(t *testing.T) *history.Recorder {
	t.Helper()
	r, err := history.NewRecorder(history.Setup{}, filepath.Join(t.TempDir(), "history"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// background runs f until the returned function, which may be called twice, or the test ends. It returns what f returned.
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

// soon is the context of what has to happen.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition, which says what isn't there yet.
func eventually(t *testing.T, condition func() (missing string)) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		if missing := condition(); missing != "" {
			return fmt.Errorf("missing: %s", missing)
		}
		return nil
	})
}
