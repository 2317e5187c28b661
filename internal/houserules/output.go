package houserules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// around are the names that write to the terminal directly, by package.
var around = map[string][]string{
	"os":      {"Stdout", "Stderr"},
	"fmt":     {"Print", "Printf", "Println"},
	"log":     {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
	"syscall": {"Stdout", "Stderr"},
}

// CheckOutput returns a sentence for each place where a file writes to standard output or standard error
// directly, bypassing the writer of package output. Each sentence starts with the path and the line.
// CheckOutput returns an error if source is no Go file.
func CheckOutput(path, source string) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		return nil, fmt.Errorf("parse a Go file: %w", err)
	}
	names := map[string][]string{} // by the name of the import
	for _, i := range file.Imports {
		imported := i.Path.Value[1 : len(i.Path.Value)-1]
		called := imported
		if i.Name != nil {
			called = i.Name.Name
		}
		if around[imported] != nil {
			names[called] = around[imported]
		}
	}
	var broken []string
	say := func(at ast.Node, what string) {
		broken = append(broken, fmt.Sprintf("%s: %s writes around output.Terminal: take the writer from the command", files.Position(at.Pos()), what))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(names[x.Name], n.Sel.Name) {
				say(n, x.Name+"."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Obj == nil && (f.Name == "print" || f.Name == "println") {
				say(n, f.Name)
			}
		}
		return true
	})
	return broken, nil
}
