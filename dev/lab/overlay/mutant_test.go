package overlay

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/longtest"
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

// The edits of each mutant fit the sources.
func TestMutantsFit(t *testing.T) {
	trees, err := findTrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Mutants() {
		if changed, err := trees.apply(m.Edits); err != nil || len(changed) == 0 {
			t.Errorf("%s changes %d files: adapt the mutant: %v", m.Name, len(changed), err)
		}
	}
}

// The packages that each mutant changes compile. Go's build cache keeps the results: a mutant is
// compiled again only after its sources have changed.
func TestMutantsCompile(t *testing.T) {
	longtest.Only(t, "the packages of 27 mutants compile for a minute")
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			args := []string{"-trimpath"}
			for _, e := range m.Edits {
				args = append(args, "./"+path.Dir(e.File))
			}
			if err := run(t.Context(), m.Edits, "build", args...); err != nil {
				t.Errorf("adapt the mutant: %v", err)
			}
		})
	}
}
