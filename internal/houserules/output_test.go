package houserules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckOutput(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   string // the only complaint has it; "" for none
	}{
		"stdout":          {"import \"os\"\nvar out = os.Stdout", "a.go:3:11: os.Stdout"},
		"under a name":    {"import system \"os\"\nvar out = system.Stderr", "system.Stderr"},
		"Println":         {"import \"fmt\"\nfunc f() { fmt.Println(1) }", "fmt.Println"},
		"log":             {"import \"log\"\nfunc f() { log.Printf(\"\") }", "log.Printf"},
		"builtin":         {"func f() { println(1) }", "println"},
		"a writer":        {"import \"fmt\"\nimport \"io\"\nfunc f(w io.Writer) { fmt.Fprintln(w) }", ""},
		"another name":    {"import \"os\"\nvar in = os.Stdin", ""},
		"our own println": {"func println(int) {}\nfunc f() { println(1) }", ""},
		"a variable":      {"import \"strings\"\nfunc f(os struct{ Stdout strings.Builder }) any { return os.Stdout }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			broken, err := CheckOutput("a.go", "package a\n"+test.source)
			switch {
			case err != nil:
				t.Error(err)
			case test.want == "" && len(broken) > 0 || test.want != "" && (len(broken) != 1 || !strings.Contains(broken[0], test.want)):
				t.Errorf("%q, want %q", broken, test.want)
			}
		})
	}
}

// writesItself are the files that may write to the terminal themselves: main.go makes the writers, and
// the provider log prints records, which it escapes.
var writesItself = []string{"cmd/signpost/main.go", "dns/provider/log/log.go"}

// tenants S12: no command writes around the writer that escapes.
func TestCommandsWriteThroughOutput(t *testing.T) {
	files := 0
	for _, dir := range []string{"catalog", "cmd", "controllers", "destination", "dns", "internal", "kube"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
			relative, _ := filepath.Rel(root, path)
			relative = filepath.ToSlash(relative)
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (strings.HasSuffix(entry.Name(), "test") || entry.Name() == "testdata"):
				return filepath.SkipDir // for tests
			case entry.IsDir() || !strings.HasSuffix(relative, ".go") || strings.HasSuffix(relative, "_test.go"):
				return nil
			}
			files++
			for _, allowed := range writesItself {
				if relative == allowed {
					return nil
				}
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			broken, err := CheckOutput(relative, string(source))
			for _, b := range broken {
				t.Error(b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("found %d Go files, which can't be all", files)
	}
}
