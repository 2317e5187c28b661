// Package golden compares what a test got with what a file says, and rewrites the file when
// the test runs with -update:
//
//	go test ./app/destclient -update
//
// [Check] is for files in testdata, and [Page] for the pages of docs/dns, which are
// generated; [Part] is for the generated parts of pages that people write. A test with files of another form asks [Update]. A package that imports golden
// has the flag. The functions are for the goroutine of the test.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update reports whether the test is to rewrite its files.
func Update() bool { return *update }

// Check compares a text with the file of this name in testdata.
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
