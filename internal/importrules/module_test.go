package importrules

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestModule(t *testing.T) {
	for _, broken := range Check(listPackages(t)) {
		t.Error(broken)
	}
}

// Also the modules under dev/, which are not part of the graph, are checked
// for what they require. Walking the tree has a second use: the cached result
// of this test is forgotten when a file comes or goes.
func TestModuleFiles(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case entry.Name() != "go.mod":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for word := range strings.FieldsSeq(string(text)) {
			if broken := CheckRequirement(filepath.ToSlash(dir), word); broken != "" {
				t.Error(broken)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// listPackages asks go list for our packages and all that they reach. Those of
// ours that only have tests are left out.
func listPackages(t *testing.T) []Package {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Imports,Standard,Dir,GoFiles", Module+"/...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the packages of %s: %v", Module, err)
	}
	var graph []Package
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var listed struct {
			Package
			Dir     string
			GoFiles []string
		}
		if err := decoder.Decode(&listed); err != nil {
			t.Fatalf("decode a package from go list: %v", err)
		}
		if strings.HasPrefix(listed.ImportPath, Module+"/") {
			if len(listed.GoFiles) == 0 {
				continue
			}
			listed.DocLines = docLines(t, listed.Dir, listed.GoFiles)
		}
		graph = append(graph, listed.Package)
	}
	return graph
}

// docLines returns the length of the longest package comment in files.
func docLines(t *testing.T, dir string, files []string) int {
	t.Helper()
	longest := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatalf("read package comment: %v", err)
		}
		longest = max(longest, strings.Count(file.Doc.Text(), "\n"))
	}
	return longest
}
