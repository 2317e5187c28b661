package overlay

import (
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var validators = []string{"V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10"}

// Each mutant says what the lab needs to run it.
func TestMutantsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Mutants() {
		if seen[m.Name] || m.Name == "" || strings.ContainsAny(m.Name, " /") {
			t.Errorf("the name %q is taken, empty, or can't be part of a file name", m.Name)
		}
		seen[m.Name] = true
		if !strings.HasSuffix(m.Fault, ".") {
			t.Errorf("%s: the fault %q is no sentence", m.Name, m.Fault)
		}
		if !slices.Contains(validators, m.Validator) {
			t.Errorf("%s: there is no validator %q", m.Name, m.Validator)
		}
		if !slices.Contains([]string{"mixed", "split-brain", "outage", "compaction", "calm", "skew", "herd", "restore", "rights", "versions", "half-open"}, m.Profile) {
			t.Errorf("%s: there is no profile %q", m.Name, m.Profile)
		}
	}
	for _, v := range validators {
		if !slices.ContainsFunc(Mutants(), func(m Mutant) bool { return m.Validator == v }) {
			t.Errorf("no mutant has to be found by %s", v)
		}
	}
}

var caught = flag.Bool("caught", false, "run Signpost's own tests with each mutant, which takes minutes")

// Each mutant names a test that there is. With the flag -caught that test is run, and has to fail
// with the mutant and to pass without.
func TestMutantsAreCaught(t *testing.T) {
	trees, err := findTrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			words := strings.Fields(m.Test)
			directory, name := words[0], words[1]
			if !hasTest(t, trees.path(directory), name) {
				t.Fatalf("there is no test %s in %s", name, directory)
			}
			if !*caught {
				return
			}
			args := append([]string{"-trimpath", "-count=1", "-timeout=5m", "-run=^" + name + "$", "./" + directory}, words[2:]...)
			if err := run(t.Context(), nil, "test", args...); err != nil {
				t.Errorf("the test fails without the mutant: %v", err)
			}
			if err := run(t.Context(), m.Edits, "test", args...); err == nil || !strings.Contains(err.Error(), "FAIL: "+name) {
				t.Errorf("the test doesn't fail with the mutant: %v", err)
			}
		})
	}
}

// hasTest reports whether a directory has a test of a name.
func hasTest(t *testing.T, directory, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), "func "+name+"(t *testing.T)")
	})
}

// The edits of each mutant fit the sources as they are now, and its packages compile. They are only
// checked as the compiler would, against what is in the build cache of the packages that they
// import: that takes seconds for all of them.
func TestMutantsCompile(t *testing.T) {
	trees, err := findTrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := newChecker(t, trees.module)
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			changed, err := trees.apply(m.Edits)
			if err != nil {
				t.Fatal(err)
			}
			if len(changed) == 0 {
				t.Fatal("the mutant changes nothing")
			}
			for _, p := range m.Packages() {
				if err := check.compile("github.com/signpostd/signpost/"+p, changed); err != nil {
					t.Errorf("%s doesn't compile any more: adapt the mutant: %v", p, err)
				}
			}
		})
	}
}

// The checker finds what the compiler would.
func TestCheckerFinds(t *testing.T) {
	trees, err := findTrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := newChecker(t, trees.module)
	for name, new := range map[string]string{
		"an unused variable": "	steps, ok := a.since(at.version)\n	unused := 1\n",
		"a wrong type":       "	steps, ok := a.since(\"\")\n",
		"no Go":              "	steps, ok := a.since(\n",
	} {
		changed, err := trees.apply([]Edit{{File: "destination/stream.go", Old: "	steps, ok := a.since(at.version)\n", New: new}})
		if err != nil {
			t.Fatal(err)
		}
		if check.compile("github.com/signpostd/signpost/destination", changed) == nil {
			t.Errorf("%s compiles", name)
		}
	}
}

// listed is a package as "go list" prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
}

// listPackages returns all packages that the mutants change, and those that they import, by import path.
func listPackages(t *testing.T, module string) map[string]listed {
	t.Helper()
	args := []string{"list", "-trimpath", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,ImportMap"}
	for _, m := range Mutants() {
		for _, p := range m.Packages() {
			args = append(args, "./"+p)
		}
	}
	printed, err := goCommand(t.Context(), module, args...)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	decoder := json.NewDecoder(strings.NewReader(printed))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
}

// checker type-checks packages with changed files, against the others as they are.
type checker struct {
	packages map[string]listed
	files    *token.FileSet
	importer types.Importer
}

// shared is the checker of all tests, because "go list -export" and the reading of imported packages take seconds.
var shared *checker

func newChecker(t *testing.T, module string) *checker {
	t.Helper()
	if shared == nil {
		c := &checker{packages: listPackages(t, module), files: token.NewFileSet()}
		c.importer = importer.ForCompiler(c.files, "gc", c.exports)
		shared = c
	}
	return shared
}

// exports opens what the compiler wrote about a package.
func (c *checker) exports(path string) (io.ReadCloser, error) {
	return os.Open(c.packages[path].Export)
}

// compile returns the first error of a package in which some files, by their paths, have another content.
func (c *checker) compile(path string, changed map[string]string) error {
	p, ok := c.packages[path]
	if !ok {
		return errors.New("there is no such package")
	}
	var syntax []*ast.File
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		var source any
		if text, ok := changed[file]; ok {
			source = text
		}
		parsed, err := parser.ParseFile(c.files, file, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		syntax = append(syntax, parsed)
	}
	config := types.Config{Importer: c.importer}
	_, err := config.Check(path, c.files, syntax, nil)
	return err
}
