// Package historytest has the recorder of tests of the lab. Tests of its network, its witnesses and its
// workload record with it, and read what was recorded from memory.
//
// # Concurrency
//
// A recorder may be used from any goroutine until its test ends.
package historytest

import (
	"path/filepath"
	"testing"

	"github.com/signpostd/signpost/dev/lab/history"
)

// NewRecorder returns a recorder that ends with the test. Nobody reads its file.
func NewRecorder(t testing.TB) *history.Recorder {
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
