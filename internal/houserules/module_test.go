package houserules

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestModule(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch relative, _ := filepath.Rel(root, path); {
		case relative == ".":
			return nil
		case entry.IsDir():
			if relative == "bin" || filepath.ToSlash(relative) == "dev/localcluster" || name == "testdata" || strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_"):
			return nil
		default:
			files++
			return checkFile(t, path, filepath.ToSlash(relative))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("found %d Go files, which can't be all", files)
	}
}

// checkFile fails the test for each complaint about a file.
func checkFile(t *testing.T, path, relative string) error {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	broken, err := Check(relative, string(source))
	for _, b := range broken {
		t.Error(b)
	}
	return err
}
