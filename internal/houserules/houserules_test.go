// Package houserules tests rules of this repository that neither go vet nor staticcheck knows:
//
//   - No exported function or method takes a bool, because a call such as Put(pod, false) doesn't say what is false.
//   - No command bypasses the writer that escapes control sequences of terminals.
//   - Pages and modules name the same versions and functions as the code.
package houserules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// direct are the names that write to the terminal directly.
var direct = strings.Fields(`os.Stdout os.Stderr syscall.Stdout syscall.Stderr fmt.Print fmt.Printf fmt.Println
	log.Print log.Printf log.Println log.Fatal log.Fatalf log.Fatalln log.Panic log.Panicf log.Panicln print println`)

// check returns a sentence for each bool parameter that other packages can pass, and for each direct write.
func check(path string, source any) (bools, writes []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		return nil, nil, err
	}
	checkParameters := func(name string, f *ast.FuncType) {
		for _, p := range f.Params.List {
			if strings.TrimPrefix(types.ExprString(p.Type), "...") == "bool" {
				bools = append(bools, fmt.Sprintf("%s: %s takes a bool: write two functions, or name each choice", files.Position(p.Pos()), name))
			}
		}
	}
	imported := map[string]string{} // by its name in the file
	for _, i := range file.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		imported[p[strings.LastIndex(p, "/")+1:]] = p
		if i.Name != nil {
			imported[i.Name.Name] = p
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		of, name := "", ""
		switch n := n.(type) {
		case *ast.FuncDecl:
			if f := functionName(n); n.Name.IsExported() && ast.IsExported(f) {
				checkParameters(f, n.Type)
			}
		case *ast.TypeSpec:
			if i, ok := n.Type.(*ast.InterfaceType); ok && n.Name.IsExported() {
				for _, m := range i.Methods.List {
					if f, ok := m.Type.(*ast.FuncType); ok && m.Names[0].IsExported() {
						checkParameters(n.Name.Name+"."+m.Names[0].Name, f)
					}
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil {
				of, name = imported[x.Name]+".", n.Sel.Name
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Obj == nil {
				name = f.Name
			}
		}
		if slices.Contains(direct, of+name) {
			writes = append(writes, fmt.Sprintf("%s: %s writes around output.Terminal: take the writer from the command", files.Position(n.Pos()), of+name))
		}
		return true
	})
	return bools, writes, nil
}

// functionName returns Name, or Type.Name of a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, _, _ := strings.Cut(strings.TrimLeft(types.ExprString(f.Recv.List[0].Type), "*("), "[")
	return receiver + "." + f.Name.Name
}

// mayWrite matches the files that may write to the terminal: main.go makes the writers, the provider log
// escapes the records that it prints, and code for tests is exempt.
var mayWrite = regexp.MustCompile(`^(?:dev|testkit)/|^cmd/signpost/main\.go$|^dns/provider/log/log\.go$|test/`)

func TestModule(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(root, path)
		relative, name := filepath.ToSlash(relative), entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && relative != "." && (relative == "bin" || relative == "dev/localcluster" || name == "testdata" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_"):
			return nil
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bools, writes, err := check(relative, source)
		if mayWrite.MatchString(relative) {
			writes = nil
		}
		for _, broken := range append(bools, writes...) {
			t.Error(broken)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("found %d Go files, which can't be all", files)
	}
}

func TestCheck(t *testing.T) {
	for source, want := range map[string]string{ // want is the beginning of the only complaint
		"func Put(a, b bool) {}":                                            "a.go:3:10: Put takes a bool",
		"func Put(string, ...bool) {}":                                      "a.go:3:18: Put",
		"func Put[T any](value T, content bool) {}":                         "a.go:3:26: Put",
		"type Index struct{}\nfunc (x *Index) Put(bool) {}":                 "a.go:4:21: Index.Put",
		"type Index[K, W any] struct{}\nfunc (x *Index[K, W]) Put(bool) {}": "a.go:4:27: Index.Put",
		"type (\n\tSink interface{ Put(bool) }\n)":                          "a.go:4:22: Sink.Put",
		"func put(ready bool) {}":                                           "",
		"type index struct{}\nfunc (*index) Put(bool) {}":                   "",
		"type Index struct{}\nfunc (Index) put(bool) {}":                    "",
		"type sink interface{ Put(bool) }":                                  "",
		"type Sink interface { error; put(bool) }":                          "",
		"func Has(func(string) bool, *bool, []bool) bool { return true }":   "",
		"type Options struct{ Content bool; Put func(bool) }":               "",

		"import \"os\"\nvar out = os.Stdout":                                            "a.go:4:11: os.Stdout writes around",
		"import system \"os\"\nvar out = system.Stderr":                                 "a.go:4:11: os.Stderr",
		"import \"fmt\"\nfunc f() { fmt.Println(1) }":                                   "a.go:4:12: fmt.Println",
		"func f() { println(1) }":                                                       "a.go:3:12: println",
		"import \"fmt\"\nimport \"io\"\nfunc f(w io.Writer) { fmt.Fprintln(w) }":        "",
		"func println(int) {}\nfunc f() { println(1) }":                                 "",
		"import \"io\"\nfunc f(os struct{ Stdout io.Writer }) any { return os.Stdout }": "",
	} {
		bools, writes, err := check("a.go", "package a\n\n"+source+"\n")
		got := strings.Join(append(bools, writes...), "\n")
		if err != nil || len(bools)+len(writes) > 1 || want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, error %v, want %q", source, got, err, want)
		}
	}
}

// Each function that docs/contributing/flows.md names is in one of the files of its row.
func TestFlows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/contributing/flows.md"))
	if err != nil {
		t.Fatal(err)
	}
	code, rows := regexp.MustCompile("`([^`]+)`"), 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[3], ".go`") {
			continue
		}
		rows++
		declared := map[string]bool{}
		for _, path := range code.FindAllStringSubmatch(cells[3], -1) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path[1]), nil, 0)
			if err != nil {
				t.Errorf("docs/contributing/flows.md names a file that can't be read: %v", err)
				continue
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					declared[functionName(f)] = true
				}
			}
		}
		for _, name := range code.FindAllStringSubmatch(cells[2], -1) {
			if !declared[name[1]] {
				t.Errorf("docs/contributing/flows.md: no function %s in %s", name[1], strings.TrimSpace(cells[3]))
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d rows name functions, want at least 30", rows)
	}
}
