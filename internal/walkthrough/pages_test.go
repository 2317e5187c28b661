package walkthrough

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	root  = "../.."
	pages = "docs/contributing"
)

// The edits of every page in docs/contributing apply, and its commands succeed. Pages run one after the other,
// because each compiles a part of the repository. With -short the commands are not run.
func TestPages(t *testing.T) {
	forgetCachedResult(t)
	names, err := filepath.Glob(filepath.Join(root, pages, "*.md"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d pages in %s, error %v", len(names), pages, err)
	}
	c := openCopy(t)
	for _, file := range names {
		t.Run(filepath.Base(file), func(t *testing.T) { testPage(t, c, file) })
	}
}

func testPage(t *testing.T, c Copy, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := Parse(pages+"/"+filepath.Base(file), string(text))
	if err != nil {
		t.Fatal(err)
	}
	renew := sync.OnceValue(c.Renew)
	err = page.Walk(os.DirFS(root), func(command Command, files Files) error {
		if testing.Short() {
			return nil
		}
		if err := renew(); err != nil {
			return err
		}
		begin := time.Now()
		err := c.Run(t.Context(), command, files)
		t.Logf("line %d, %s: %s", command.Line, time.Since(begin).Round(time.Millisecond), strings.Join(command.Words, " "))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// openCopy returns the copy in bin, which no other process uses until the test ends.
func openCopy(t *testing.T) Copy {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(bin, "walkthrough.lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return Copy{Root: root, Dir: filepath.Join(bin, "walkthrough")}
}

// forgetCachedResult opens all directories of the repository, so that a cached result of
// this test is forgotten when a file in one of them changes.
func forgetCachedResult(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
