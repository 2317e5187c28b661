package houserules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// Check returns a sentence for each bool parameter of an exported function, of an exported method of an
// exported type, or of an exported method of an exported interface. Each sentence starts with the path and
// the line. Check returns an error if source is no Go file.
func Check(path, source string) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse a Go file: %w", err)
	}
	var broken []string
	check := func(name string, f *ast.FuncType) {
		for _, p := range f.Params.List {
			if isBool(p.Type) {
				broken = append(broken, fmt.Sprintf("%s: %s takes a bool: write two functions, or name each choice", files.Position(p.Pos()), name))
			}
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if name := exportedName(d); name != "" {
				check(name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for name, f := range interfaceMethods(spec) {
					check(name, f)
				}
			}
		}
	}
	return broken, nil
}

// isBool reports whether a parameter is a bool, or variadic bools.
func isBool(parameter ast.Expr) bool {
	if many, ok := parameter.(*ast.Ellipsis); ok {
		parameter = many.Elt
	}
	name, ok := parameter.(*ast.Ident)
	return ok && name.Name == "bool"
}

// exportedName returns the name of a function, or Type.Name of a method; "" if other packages can't call it.
func exportedName(d *ast.FuncDecl) string {
	if !d.Name.IsExported() {
		return ""
	}
	if d.Recv == nil {
		return d.Name.Name
	}
	receiver := typeName(d.Recv.List[0].Type)
	if !ast.IsExported(receiver) {
		return ""
	}
	return receiver + "." + d.Name.Name
}

// typeName returns the name of the type of a receiver: T, *T or *T[P].
func typeName(receiver ast.Expr) string {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return typeName(r.X)
	case *ast.ParenExpr:
		return typeName(r.X)
	case *ast.IndexExpr:
		return typeName(r.X)
	case *ast.IndexListExpr:
		return typeName(r.X)
	case *ast.Ident:
		return r.Name
	default:
		return ""
	}
}

// interfaceMethods returns the exported methods that an exported interface declares.
func interfaceMethods(spec ast.Spec) map[string]*ast.FuncType {
	methods := map[string]*ast.FuncType{}
	t, ok := spec.(*ast.TypeSpec)
	if !ok || !t.Name.IsExported() {
		return methods
	}
	declared, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return methods
	}
	for _, m := range declared.Methods.List {
		f, ok := m.Type.(*ast.FuncType)
		if ok && m.Names[0].IsExported() {
			methods[t.Name.Name+"."+m.Names[0].Name] = f
		}
	}
	return methods
}
