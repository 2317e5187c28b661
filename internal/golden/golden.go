// Package golden compares the result of a test with a file, and rewrites the file if the test runs with
// -update:
//
//	go test ./app/destclient -update
//
// [Check] is for files in testdata, [Page] for the generated pages of docs/dns, [Part] for
// generated parts of hand-written pages, and [File] for other files. A test with files of another
// form calls [Update]. A package that imports golden has the flag.
//
// # Concurrency
//
// The functions are for the goroutine of the test.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update reports whether the test should rewrite its files.
func Update() bool { return *update }

// Check compares a text with a file in testdata.
func Check(t *testing.T, name, got string) {
	t.Helper()
	File(t, filepath.Join("testdata", name), got)
}

// File compares a file with text that the program makes. With -update it rewrites the file instead.
func File(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale: run this test with -update (-file +program):\n%s", file, diff)
	}
}
