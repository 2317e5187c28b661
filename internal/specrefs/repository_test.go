package specrefs

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// Every citation of the specification can be followed, and every link of the
// documentation.
func TestRepository(t *testing.T) {
	files, tree := readRepository(t)
	names := slices.Sorted(maps.Keys(files))
	var documents []Document
	for _, file := range names {
		if name, isSpec := strings.CutPrefix(file, "docs/spec/"); isSpec && name != "README.md" {
			documents = append(documents, ReadDocument(name, files[file]))
		}
	}
	for _, file := range names {
		var dangling []string
		if file != "internal/specrefs/check_test.go" { // which is about citations that dangle
			dangling = Check(documents, file, files[file])
		}
		if path.Ext(file) == ".md" {
			dangling = append(dangling, CheckLinks(tree, file, files[file])...)
		}
		for _, sentence := range dangling {
			t.Error(sentence)
		}
	}
}

// readRepository returns the text of each file, and what links can lead to. It
// reads through package os, so that a cached result is forgotten when a file changes.
func readRepository(t *testing.T) (map[string]string, Tree) {
	t.Helper()
	files, tree := map[string]string{}, Tree{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		switch {
		case entry.IsDir():
			if name != root && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir
			}
			tree[relative] = nil
			return nil
		case !entry.Type().IsRegular(), strings.HasPrefix(entry.Name(), "."), path.Ext(relative) == ".sum":
			return nil
		case path.Ext(relative) == ".png": // pages show it
			tree[relative] = nil
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(text, 0) >= 0 { // what is built is no text
			return err
		}
		files[relative] = string(text)
		tree[relative] = Anchors(files[relative])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, tree
}
