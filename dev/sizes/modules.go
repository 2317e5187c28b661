package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
)

// Names of what belongs to no module.
const (
	standard = "the standard library"
	merged   = "types, strings and tables of all of them"
)

// A share is what a module has of a program, in bytes.
type share struct{ code, data uint64 }

// A program is the sizes of all its parts, in bytes.
type program struct {
	modules map[string]*share
	total   uint64 // of what is loaded into memory from the file
	table   uint64 // .gopclntab
}

// add adds a symbol to a module.
func (p *program) add(module string, size uint64, code bool) {
	s := p.modules[module]
	if s == nil {
		s = &share{}
		p.modules[module] = s
	}
	if code {
		s.code += size
	} else {
		s.data += size
	}
}

// A row is a line of the table, in bytes.
type row struct {
	module     string
	own, table uint64
}

func (r row) both() uint64 { return r.own + r.table }

// rows returns the modules, the largest first. What is in no symbol is merged.
func (p *program) rows() []row {
	var code, counted uint64
	for _, s := range p.modules {
		code += s.code
		counted += s.code + s.data
	}
	rows := []row{}
	rest := p.total - min(p.total, p.table+counted)
	for module, s := range p.modules {
		r := row{module, s.code + s.data, p.table * s.code / max(code, 1)}
		if module == merged {
			r.own, rest = r.own+rest, 0
		}
		rows = append(rows, r)
	}
	if rest > 0 {
		rows = append(rows, row{merged, rest, 0})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.both(), a.both()), strings.Compare(a.module, b.module))
	})
	return rows
}

// print writes the table. The modules after the first ones are one line.
func (p *program) print(w io.Writer, top int) {
	rows := p.rows()
	line := func(r row, name string) {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", megabytes(r.both()), megabytes(r.own), megabytes(r.table), name)
	}
	fmt.Fprintf(w, "| MB | itself | its table | module |\n| --- | --- | --- | --- |\n")
	for _, r := range rows[:min(top, len(rows))] {
		line(r, r.module)
	}
	if len(rows) > top {
		var others row
		for _, r := range rows[top:] {
			others.own += r.own
			others.table += r.table
		}
		line(others, fmt.Sprintf("%d others", len(rows)-top))
	}
	line(row{"", p.total - p.table, p.table}, "all")
}

func megabytes(bytes uint64) string { return fmt.Sprintf("%.2f", float64(bytes)/1e6) }

// A finder finds the module of a symbol.
type finder struct {
	paths []string // of modules
	known map[string]string
}

func newFinder(info *debug.BuildInfo) *finder {
	f := &finder{paths: []string{info.Main.Path}, known: map[string]string{}}
	for _, m := range info.Deps {
		f.paths = append(f.paths, m.Path)
	}
	return f
}

// module returns the module of a symbol: its path, or one of the names above.
func (f *finder) module(symbol string) string {
	name := packageOf(symbol)
	if name == "" {
		return merged
	}
	module, ok := f.known[name]
	if !ok {
		module = f.longest(name)
		f.known[name] = module
	}
	return module
}

// longest returns the module whose path is the longest beginning of a package's.
func (f *finder) longest(name string) string {
	found := standard
	for _, path := range f.paths {
		if (name == path || strings.HasPrefix(name, path+"/")) && (found == standard || len(path) > len(found)) {
			found = path
		}
	}
	if name == "main" {
		return f.paths[0]
	}
	return found
}

// unescape undoes what the compiler does with the last part of a path.
var unescape = strings.NewReplacer("%2e", ".")

// packageOf returns the package of a symbol, empty if it has none. The path ends at the first dot
// after its last slash; what follows may be the arguments of a generic function, which have paths,
// too.
func packageOf(symbol string) string {
	for _, prefix := range []string{"go:itab.", "type:.eq.", "type:.hash.", "type:"} {
		if rest, found := strings.CutPrefix(symbol, prefix); found {
			symbol = strings.TrimLeft(rest, "*")
			break
		}
	}
	if strings.HasPrefix(symbol, "go:") { // of the linker
		return ""
	}
	symbol, _, _ = strings.Cut(symbol, "[")
	symbol, _, _ = strings.Cut(symbol, ",")
	slash := strings.LastIndexByte(symbol, '/') + 1
	dot := strings.IndexByte(symbol[slash:], '.')
	if dot <= 0 || strings.ContainsAny(symbol[:slash+dot], "({ *") {
		return ""
	}
	return unescape.Replace(symbol[:slash+dot])
}
