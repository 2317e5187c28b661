package importrules

import (
	"fmt"
	"slices"
	"strings"
)

// Package is what the rules need to know about a package.
type Package struct {
	// ImportPath identifies the package.
	ImportPath string
	// Name is the name in its package clause.
	Name string
	// Imports are the paths of the packages that it imports directly.
	Imports []string
	// Standard is true for packages of the standard library.
	Standard bool
	// DocLines is the length of its package comment. Only our packages need one.
	DocLines int
}

// Check returns a sentence for each violation of the rules, sorted. The graph contains our packages and
// everything that they import, directly or not.
func Check(graph []Package) []string {
	byPath := make(map[string]Package, len(graph))
	for _, p := range graph {
		byPath[p.ImportPath] = p
	}
	var broken []string
	for _, p := range graph {
		path, ours := relative(p.ImportPath)
		if !ours {
			continue
		}
		broken = append(broken, checkPackage(path, p)...)
		for _, r := range rules {
			if matchesAny(r.from, path) {
				broken = append(broken, r.checkDirect(path, p)...)
				broken = append(broken, r.checkReach(path, byPath)...)
			}
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

// CheckRequirement returns a sentence if the module in dir (relative to the root) must not require the given
// module, else "".
func CheckRequirement(dir, required string) string {
	switch {
	case slices.Contains(forbiddenModules, required):
		return fmt.Sprintf("%s/go.mod requires %s: what Signpost replaces is not part of it", dir, required)
	case required == localClusterOnly && dir != "dev/localcluster":
		return fmt.Sprintf("%s/go.mod requires %s: only dev/localcluster may", dir, required)
	}
	return ""
}

// checkPackage checks the name and the comment of a package.
func checkPackage(path string, p Package) []string {
	var broken []string
	last := path[strings.LastIndex(path, "/")+1:]
	for _, name := range forbiddenNames {
		if p.Name == name || last == name {
			broken = append(broken, fmt.Sprintf("%s: the name %q says nothing about what is in it", path, name))
		}
	}
	if p.DocLines < 5 || p.DocLines > 30 {
		broken = append(broken, fmt.Sprintf("%s: the package comment has %d lines, want 5 to 30", path, p.DocLines))
	}
	return broken
}

func (r rule) checkDirect(path string, p Package) []string {
	if r.only == nil {
		return nil
	}
	var broken []string
	for _, imported := range p.Imports {
		target, ours := relative(imported)
		if ours && !sameTree(r.from, path, target) && !matchesAny(r.only, target) {
			broken = append(broken, fmt.Sprintf("%s imports %s: %s", path, target, r.why))
		}
	}
	return broken
}

// checkReach walks everything that the package at path imports, directly or not, and reports forbidden
// packages with one import path to each.
func (r rule) checkReach(path string, byPath map[string]Package) []string {
	if r.never == nil {
		return nil
	}
	var broken []string
	start := Module + "/" + path
	importer := map[string]string{start: ""}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range byPath[queue[0]].Imports {
			if _, seen := importer[next]; seen {
				continue
			}
			importer[next] = queue[0]
			if r.forbids(next, byPath[next]) {
				broken = append(broken, fmt.Sprintf("%s: %s", way(importer, next), r.why))
				continue
			}
			if !byPath[next].Standard && !slices.Contains(r.opaque, next) {
				queue = append(queue, next)
			}
		}
	}
	return broken
}

func (r rule) forbids(path string, p Package) bool {
	own, ours := relative(path)
	for _, never := range r.never {
		switch {
		case never == anyModule:
			if !ours && !p.Standard {
				return true
			}
		case strings.HasPrefix(never, "./"):
			if ours && within(own, never[2:]) {
				return true
			}
		case !ours && within(path, never):
			return true
		}
	}
	return false
}

// way returns the import path from the first package to the last.
func way(importer map[string]string, last string) string {
	var steps []string
	for at := last; at != ""; at = importer[at] {
		steps = append(steps, strings.TrimPrefix(at, Module+"/"))
	}
	slices.Reverse(steps)
	return strings.Join(steps, " → ")
}

// relative returns the path of our package relative to the module. The root of the module has no package.
func relative(path string) (string, bool) {
	return strings.CutPrefix(path, Module+"/")
}

// sameTree reports whether both paths are in the same tree of one of the patterns.
func sameTree(patterns []string, path, target string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		top, ok := tree(pattern, path)
		return ok && strings.HasSuffix(pattern, "...") && within(target, top)
	})
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		_, ok := tree(pattern, path)
		return ok
	})
}

// tree returns the top of the tree that contains path, if pattern matches it.
func tree(pattern, path string) (string, bool) {
	if pattern == "..." {
		return "", true
	}
	if parent, each := strings.CutSuffix(pattern, "/*/..."); each {
		rest, below := strings.CutPrefix(path, parent+"/")
		child, _, _ := strings.Cut(rest, "/")
		return parent + "/" + child, below
	}
	if top, all := strings.CutSuffix(pattern, "/..."); all {
		return top, within(path, top)
	}
	return pattern, path == pattern
}

// within reports whether path is top or below it. Everything is below "".
func within(path, top string) bool {
	return top == "" || path == top || strings.HasPrefix(path, top+"/")
}
