package houserules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
		for _, file := range code.FindAllStringSubmatch(cells[3], -1) {
			declare(t, filepath.Join(root, file[1]), declared)
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

// declare adds the functions of a file: Name, or Type.Name.
func declare(t *testing.T, path string, names map[string]bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("docs/contributing/flows.md names a file that can't be read: %v", err)
		return
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type) + "." + name
		}
		names[name] = true
	}
}

// receiver returns the name of the type of a method.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
