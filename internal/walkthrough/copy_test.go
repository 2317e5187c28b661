package walkthrough

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// module is a small repository.
var module = Files{
	"go.mod":                "module example.test/m\n\ngo 1.26\n",
	".git":                  "a worktree\n",
	"bin/tool":              "built\n",
	"a/a.go":                "package a\n\nconst X = 1\n",
	"a/testdata/in/one.txt": "1\n",
	"a/a_test.go":           "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tif X != 1 {\n\t\tt.Errorf(\"X is %d\", X)\n\t}\n}\n\nfunc TestSkipped(t *testing.T) { t.Skip() }\n",
	"none/none.go":          "package none\n",
}

// newCopy returns a copy of the module.
func newCopy(t *testing.T) Copy {
	t.Helper()
	dir := t.TempDir()
	c := Copy{Root: filepath.Join(dir, "root"), Dir: filepath.Join(dir, "copy")}
	for path, text := range module {
		if err := (Copy{Dir: c.Root}).write(path, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Renew(); err != nil {
		t.Fatal(err)
	}
	return c
}

// read returns all files of a directory.
func read(t *testing.T, dir string) Files {
	t.Helper()
	files := Files{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A copy has the files with their times, and nothing of what was there before.
func TestRenew(t *testing.T) {
	c := newCopy(t)
	then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(c.Root, "a/a.go"), then, then); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/a.go", "b/b.go"} {
		if err := c.write(path, "old\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Renew(); err != nil {
		t.Fatal(err)
	}
	want := read(t, c.Root)
	delete(want, ".git")
	delete(want, "bin/tool")
	if diff := cmp.Diff(want, read(t, c.Dir)); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(c.Dir, "a/a.go")); err != nil || !info.ModTime().Equal(then) {
		t.Errorf("a copied file: %v, error %v", info, err)
	}
}

func TestRun(t *testing.T) {
	const (
		main   = "package main\n\nimport \"example.test/m/a\"\n\nfunc main() {\n\tif a.X != 2 {\n\t\tpanic(\"X is not 2\")\n\t}\n}\n"
		broken = "package a\n\nconst X = \"1\"\n"
		reads  = "package b\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestB(t *testing.T) {\n\tif _, err := os.ReadFile(\"testdata/b.txt\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"
	)
	two := Files{"a/a.go": "package a\n\nconst X = 2\n", "cmd/x/main.go": main}
	tests := map[string]struct {
		command string
		files   Files
		want    []string // parts of the error; without any there must be none
	}{
		"test":               {command: "go test ./a"},
		"one test":           {command: "go test ./a -run ^TestX$"},
		"new directory":      {command: "go test ./b", files: Files{"b/b_test.go": reads, "b/testdata/b.txt": ""}},
		"build":              {command: "go build ./cmd/x", files: two},
		"build all":          {command: "go build ./...", files: two},
		"run":                {command: "go run ./cmd/x", files: two},
		"vet":                {command: "go vet ./...", files: Files{"b/b.go": "package b\n"}},
		"generate":           {command: "go generate ./b", files: Files{"b/b.go": "package b\n\n//go:generate go vet .\n"}},
		"failing test":       {command: "go test ./a", files: two, want: []string{"exit status 1", "X is 2"}},
		"doesn't compile":    {command: "go test ./a", files: Files{"a/a.go": broken}, want: []string{"exit status 1", "mismatched types"}},
		"doesn't build":      {command: "go build ./cmd/x", files: Files{"cmd/x/main.go": main, "a/a.go": broken}, want: []string{"exit status 1", "mismatched types"}},
		"run fails":          {command: "go run ./cmd/x", files: Files{"cmd/x/main.go": main}, want: []string{"X is not 2"}},
		"vet complains":      {command: "go vet ./b", files: Files{"b/b.go": "package b\n\nfunc f() {\n\tx := 1\n\tx = x\n}\n"}, want: []string{"self-assignment"}},
		"no test to run":     {command: "go test ./a -run ^TestNone$", want: []string{"no test of example.test/m/a was run"}},
		"skipped":            {command: "go test ./a -run ^TestSkipped$", want: []string{"no test of example.test/m/a was run"}},
		"no test files":      {command: "go test ./a ./none", want: []string{"no test of example.test/m/none was run"}},
		"no such package":    {command: "go test ./nonesuch", want: []string{"exit status 1", "nonesuch"}},
		"no package matches": {command: "go test ./a/testdata/...", want: []string{"no packages to test"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCopy(t)
			before := read(t, c.Root)
			err := c.Run(t.Context(), Command{Words: strings.Fields(tt.command)}, tt.files)
			if len(tt.want) == 0 && err != nil {
				t.Error(err)
			}
			checkError(t, err, tt.want...)
			if diff := cmp.Diff(before, read(t, c.Root)); diff != "" {
				t.Errorf("the command changed the repository:\n%s", diff)
			}
		})
	}
}
