// Package walkthrough tests the pages in docs/contributing: it applies what a page adds to a copy
// of the repository, in bin/walkthrough, and runs the commands of the page there. The info string
// of a fenced block says what it is:
//
//	go file=PATH           a new file of the repository; also yaml, txtar, text and so on
//	go file=PATH as-is     an existing file, quoted in full
//	diff file=PATH         an edit of an existing file, or of one that the page has made
//	sh run                 go commands, one per line
//
// In an edit, lines with a space or "-" in front must match exactly one place of the file; "@@"
// starts a new place; a line that ends with "…" is matched by its beginning.
package walkthrough

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const root = "../.."

var block = regexp.MustCompile("(?ms)^```([a-z]*)( [^\n]*)?\n(.*?)^```$")

// tree is the directory to which blocks are applied.
type tree struct {
	// dir gets the files. Missing files are read from base, if that isn't empty.
	dir, base string
	run       func(command string) error
}

// walk applies the blocks of a page, in order. Errors start with the line.
func (t tree) walk(page string) error {
	for _, at := range block.FindAllStringSubmatchIndex(page, -1) {
		language, info, text := page[at[2]:at[3]], "", page[at[6]:at[7]]
		if at[4] >= 0 {
			info = page[at[4]+1 : at[5]]
		}
		if err := t.apply(language, info, text); err != nil {
			return fmt.Errorf("line %d: %w", strings.Count(page[:at[0]], "\n")+1, err)
		}
	}
	return nil
}

// apply applies a block.
func (t tree) apply(language, info, text string) error {
	if language == "sh" && info == "run" {
		for command := range strings.Lines(text) {
			if command = strings.TrimSpace(command); strings.HasPrefix(command, "go ") {
				if err := t.run(command); err != nil {
					return fmt.Errorf("%s: %w", command, err)
				}
			} else if command != "" && !strings.HasPrefix(command, "#") {
				return fmt.Errorf("%q is not run, because it is no go command: put it into a block without the word run", command)
			}
		}
		return nil
	}
	path, inFile := strings.CutPrefix(info, "file=")
	path, asIs := strings.CutSuffix(path, " as-is")
	switch {
	case info == "" && language != "go" && language != "diff":
		return nil
	case !inFile || !filepath.IsLocal(path) || strings.Contains(path, " "):
		return fmt.Errorf("unknown block %q: use LANGUAGE file=PATH, LANGUAGE file=PATH as-is, diff file=PATH, or sh run", language+" "+info)
	}
	to := filepath.Join(t.dir, path)
	old, err := os.ReadFile(to)
	if errors.Is(err, fs.ErrNotExist) && t.base != "" {
		old, err = os.ReadFile(filepath.Join(t.base, path))
	}
	switch {
	case err != nil && (language == "diff" || asIs || !errors.Is(err, fs.ErrNotExist)):
		return err
	case language == "diff":
		if text, err = edit(string(old), text); err != nil {
			return err
		}
	case err == nil && !asIs:
		return errors.New("the file exists: edit it with a block diff, or add as-is")
	case err == nil && string(old) != text:
		return errors.New("the file is another one than here: copy it into the page")
	}
	if formatted, err := format.Source([]byte(text)); strings.HasSuffix(path, ".go") && (err != nil || string(formatted) != text) {
		return fmt.Errorf("the file is not formatted: put into the page what gofmt makes of it (error %v)", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text), 0o644)
}

// edit applies the hunks of a block to a text.
func edit(text, block string) (string, error) {
	lines := strings.Split(text, "\n")
	for hunk := range strings.SplitSeq("\n"+strings.TrimPrefix(block, "@@\n"), "\n@@\n") {
		changes := strings.Split(strings.Trim(hunk, "\n"), "\n")
		var before []string
		for i, line := range changes {
			if line == "" { // editors strip the space of an empty line
				changes[i], line = " ", " "
			}
			if !strings.ContainsAny(line[:1], " +-") {
				return "", fmt.Errorf("%q is no line of an edit: begin it with a space, + or -", line)
			}
			if line[0] != '+' {
				before = append(before, line[1:])
			}
		}
		var places []int
		for at := range len(lines) - len(before) + 1 {
			if slices.EqualFunc(before, lines[at:at+len(before)], matches) {
				places = append(places, at)
			}
		}
		if len(before) == 0 || len(places) != 1 {
			return "", fmt.Errorf("the lines %q are in the file %d times, want once: correct the lines that begin with a space or -, or add more of them", before, len(places))
		}
		var after []string
		at := places[0]
		for _, line := range changes {
			switch line[0] {
			case '+':
				after = append(after, line[1:])
			case ' ':
				after = append(after, lines[at])
				at++
			default:
				at++
			}
		}
		lines = slices.Replace(lines, places[0], at, after...)
	}
	return strings.Join(lines, "\n"), nil
}

// matches reports whether a line of an edit matches a line of the file.
func matches(edit, line string) bool {
	beginning, cut := strings.CutSuffix(edit, "…")
	return edit == line || cut && strings.HasPrefix(line, beginning)
}

// runIn runs a command in a copy of the repository. A package of go test without a passing test is an error.
func runIn(t *testing.T, dir, command string) error {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+command)
	cmd.Dir = dir
	// The same environment as in the Makefile reuses its build cache. A copy has no history.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+dir, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false -trimpath -gcflags=all=-dwarf=false"))
	if strings.HasPrefix(command, "go test ") {
		cmd.Args[2] = strings.Replace(cmd.Args[2], "go test ", "go test -v ", 1)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%s: %s", time.Since(begin).Round(time.Millisecond), command)
	switch {
	case err != nil:
		return fmt.Errorf("%w; it said:\n%s", err, out)
	case strings.HasPrefix(command, "go test ") && (!bytes.Contains(out, []byte("--- PASS")) || bytes.Contains(out, []byte("[no test"))):
		return fmt.Errorf("no test was run: correct the names, or leave the package out; it said:\n%s", out)
	}
	return nil
}

// renew makes dir a copy of the repository without its history and build results. Times are kept, because go
// detects changes by them.
func renew(repository, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(repository)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == ".git" || entry.Name() == "bin" {
			continue
		}
		if out, err := exec.Command("cp", "-a", filepath.Join(repository, entry.Name()), dir).CombinedOutput(); err != nil {
			return fmt.Errorf("copy the repository: %w: %s", err, out)
		}
	}
	return nil
}

// Pages run one after the other, because each compiles a part of the repository. With -short the commands are
// skipped.
func TestPages(t *testing.T) {
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(bin, "walkthrough.lock")) // of the copy, for one process
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	// The cached result of this test is forgotten when a file changes in a directory that it has opened.
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "docs/contributing/*.md"))
	if err != nil || len(names) < 5 {
		t.Fatalf("found %d pages, error %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			page, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			to := tree{dir: t.TempDir(), base: root, run: func(string) error { return nil }}
			if !testing.Short() && block.Match(page) {
				dir := filepath.Join(bin, "walkthrough")
				if err := renew(root, dir); err != nil {
					t.Fatal(err)
				}
				to = tree{dir: dir, run: func(command string) error { return runIn(t, dir, command) }}
			}
			if err := to.walk(string(page)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// Each kind of block is applied, and fails if it doesn't match the repository. "~" stands for "`".
func TestWalk(t *testing.T) {
	repository := map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26\n", "bin/tool": "built\n", "a.txt": "one\ntwo\n\nthree\ntwo\n",
		"a/a.go":      "package a\n\nconst X = 1\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tif X != 1 {\n\t\tt.Error(\"X is not 1\")\n\t}\n}\n\nfunc TestSkipped(t *testing.T) { t.Skip() }\n",
	}
	for name, test := range map[string]struct{ page, want string }{
		"blocks": {"text\n~~~go file=b/b.go\npackage b\n~~~\n~~~txt file=a/a.go as-is\npackage a\n\nconst X = 1\n~~~\n~~~diff file=b/b.go\n package b\n+\n+var y int\n~~~\n" +
			"~~~diff file=a.txt\n@@\n o…\n+and a half\n two\n\n@@\n three\n-two\n~~~\n~~~sh\nmake all\n~~~\n" +
			"~~~diff file=a.txt\n one\n and a half\n two\n\n three\n~~~\n~~~sh run\n# a comment\n\ngo test ./a -run '^TestX$'\ngo vet ./b\n~~~\n", ""},
		"file exists":     {"\n~~~text file=a.txt\nx\n~~~\n", "line 2: the file exists"},
		"file is missing": {"~~~diff file=b.txt\n x\n~~~\n", "no such file"},
		"shown wrongly":   {"~~~text file=a.txt as-is\none\n~~~\n", "another one"},
		"not found":       {"~~~diff file=a.txt\n one\n three\n~~~\n", "0 times"},
		"found twice":     {"~~~diff file=a.txt\n two\n+x\n~~~\n", "2 times"},
		"nowhere":         {"~~~diff file=a.txt\n+x\n~~~\n", "want once"},
		"no edit":         {"~~~diff file=a.txt\none\n~~~\n", `"one" is no line`},
		"not formatted":   {"~~~diff file=a/a.go\n-const X = 1\n+const X  = 1\n~~~\n", "not formatted"},
		"Go in prose":     {"~~~go\nx := 1\n~~~\n", "unknown block"},
		"misspelled":      {"~~~go fil=a.go\npackage a\n~~~\n", "unknown block"},
		"outside":         {"~~~text file=../a\nx\n~~~\n", "unknown block"},
		"no go command":   {"~~~sh run\nmake all\n~~~\n", "no go command"},
		"built":           {"~~~text file=bin/tool as-is\nbuilt\n~~~\n", "no such file"},
		"failing test":    {"~~~diff file=a/a.go\n-const X = 1\n+const X = 2\n~~~\n\n~~~sh run\ngo test ./a\n~~~\n", "line 6: go test ./a: exit status 1; it said:\n=== RUN   TestX\n    a_test.go:7: X is not 1"},
		"no such test":    {"~~~sh run\ngo test ./a -run '^TestY$'\n~~~\n", "no test was run"},
		"skipped":         {"~~~sh run\ngo test ./a -run Skipped\n~~~\n", "no test was run"},
		"no tests":        {"~~~go file=b/b.go\npackage b\n~~~\n~~~sh run\ngo test ./a ./b\n~~~\n", "no test was run"},
	} {
		t.Run(name, func(t *testing.T) {
			from, dir := t.TempDir(), filepath.Join(t.TempDir(), "copy")
			for path, text := range repository {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(from, path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(from, path), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := renew(from, dir); err != nil {
				t.Fatal(err)
			}
			err := tree{dir: dir, run: func(command string) error { return runIn(t, dir, command) }}.walk(strings.ReplaceAll(test.page, "~", "`"))
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}
