// Package golden compares what a test got with what a file says, and rewrites the file when
// the test runs with -update:
//
//	go test ./internal/ask -update
//
// The tests of commands, of pages that are generated, and of scenarios use it. A package that
// imports it has the flag. The functions are for the goroutine of the test.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update reports whether files are to be rewritten.
func Update() bool { return *update }

// Check compares with a file of the package's testdata.
func Check(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
