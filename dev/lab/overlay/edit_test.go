package overlay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// edited returns trees in temporary directories, with some files.
func edited(t *testing.T) trees {
	t.Helper()
	made := trees{module: t.TempDir(), goroot: t.TempDir()}
	for path, text := range map[string]string{
		made.path("dns/plan.go"):           "one two\none\n",
		made.path("$GOROOT/src/time/t.go"): "package time\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// Edits of one file are made one after the other, in both trees, and new files are added.
func TestApply(t *testing.T) {
	trees := edited(t)
	changed, err := trees.apply([]Edit{
		{File: "dns/plan.go", Old: "two", New: "three"},
		{File: "dns/plan.go", Old: "three\none", New: "four"},
		{File: "$GOROOT/src/time/t.go", Old: "time", New: "thyme"},
		{File: "$GOROOT/src/time/more.go", New: "package time\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"dns/plan.go": "one four\n", "$GOROOT/src/time/t.go": "package thyme\n", "$GOROOT/src/time/more.go": "package time\n",
	} {
		if got := changed[trees.path(file)]; got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
	if len(changed) != 3 {
		t.Errorf("got %d changed files, want 3", len(changed))
	}
}

// An edit that doesn't fit is an error that names it, and so is each other one of the list.
func TestEditsThatDoNotFit(t *testing.T) {
	for name, test := range map[string]struct {
		edit Edit
		want string
	}{
		"a text that is there twice":    {Edit{File: "dns/plan.go", Old: "one", New: "two"}, `edit dns/plan.go: the file contains the text 2 times, and must contain it once`},
		"a text that isn't there":       {Edit{File: "dns/plan.go", Old: "ten", New: "two"}, `edit dns/plan.go: the file contains the text 0 times`},
		"a file that isn't there":       {Edit{File: "dns/gone.go", Old: "one", New: "two"}, `edit dns/gone.go: open `},
		"a new file that is there":      {Edit{File: "dns/plan.go", New: "two"}, `edit dns/plan.go: the file was to be added, but there is one already`},
		"a file of Go that isn't there": {Edit{File: "$GOROOT/src/os/gone.go", Old: "a", New: "b"}, `edit $GOROOT/src/os/gone.go: open `},
	} {
		_, err := edited(t).apply([]Edit{test.edit, {File: "other.go", Old: "a"}})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "edit other.go:") {
			t.Errorf("%s: got the error %v, want one with %q and one about other.go", name, err, test.want)
		}
	}
}

// A build outside of the repository, and one of sources that don't compile, say what is wrong.
func TestBuildsThatFail(t *testing.T) {
	broken := Edit{File: "dev/lab/overlay/testdata/clockprogram/main.go", Old: "const span = 300 * time.Millisecond\n", New: "const span = true\n"}
	err := run(t.Context(), []Edit{broken}, "build", "-o", os.DevNull, "./dev/lab/overlay/testdata/clockprogram")
	if err == nil || !strings.Contains(err.Error(), "cannot use span") {
		t.Errorf("got the error %v, want that of the compiler", err)
	}
	t.Chdir(t.TempDir())
	if err := BuildSignpost(t.Context(), "signpost"); err == nil || !strings.Contains(err.Error(), "the working directory is not in their repository") {
		t.Errorf("got the error %v, want one about the working directory", err)
	}
}
