package importrules

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// hcloud has, up to v2.36.0 at least, a helper for tests in a file that is no test.
const hcloud = "github.com/hetznercloud/hcloud-go/v2/hcloud"

// pkg is a package as "go list" describes it.
type pkg struct {
	ImportPath, Name, Dir string
	GoFiles, Imports      []string
	// docLines is the length of the package comment.
	docLines int
}

// graph has our packages and everything that they import, directly or not, by path.
type graph map[string]pkg

// check returns a sentence for each violation of the rules.
func (g graph) check() []string {
	var broken []string
	for _, p := range g {
		path, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		if slices.Contains(forbiddenNames, p.Name) || slices.Contains(forbiddenNames, filepath.Base(path)) {
			broken = append(broken, path+": its name says nothing about what is in it")
		}
		if p.docLines < 5 || p.docLines > 30 {
			broken = append(broken, fmt.Sprintf("%s: the package comment has %d lines, want 5 to 30", path, p.docLines))
		}
		reached, importer := g.reach(p.ImportPath)
		for _, r := range rules {
			for _, from := range r.from {
				broken = append(broken, r.check(from, path, p.Imports, reached, importer)...)
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// reach returns all packages that a package imports, directly or not, the nearest first, each with a package
// that imports it.
func (g graph) reach(path string) (all []string, importer map[string]string) {
	all, importer = []string{path}, map[string]string{path: ""}
	for i := 0; i < len(all); i++ {
		for _, next := range g[all[i]].Imports {
			if _, seen := importer[next]; !seen && (all[i] != hcloud || next != "testing") {
				all, importer[next] = append(all, next), all[i]
			}
		}
	}
	return all[1:], importer
}

// check returns the imports that break a rule, at most one of those that r.never forbids.
func (r rule) check(from, path string, imports, reached []string, importer map[string]string) []string {
	tree := treeOf(from, path)
	if tree == "" {
		return nil
	}
	var broken []string
	for _, imported := range imports {
		target, ours := strings.CutPrefix(imported, module+"/")
		if ours && r.only != nil && treeOf(from, target) != tree && !slices.ContainsFunc(r.only, func(only string) bool { return treeOf(only, target) != "" }) {
			broken = append(broken, fmt.Sprintf("%s imports %s: %s", path, target, r.why))
		}
		if slices.Contains(r.neverDirectly, imported) {
			broken = append(broken, fmt.Sprintf("%s imports %s: %s", path, imported, r.why))
		}
	}
	for _, target := range reached {
		if !slices.ContainsFunc(r.never, func(never string) bool { return forbids(never, target) }) {
			continue
		}
		way := target
		for at := importer[target]; at != ""; at = importer[at] {
			way = at + " → " + way
		}
		return append(broken, strings.ReplaceAll(way, module+"/", "")+": "+r.why)
	}
	return broken
}

// treeOf returns the top of the tree that has path, if pattern matches it, or "".
func treeOf(pattern, path string) string {
	tree := regexp.QuoteMeta(strings.TrimSuffix(pattern, "/..."))
	expression := "^(" + strings.ReplaceAll(tree, `\*`, "[^/]+") + ")$"
	if pattern == "..." {
		expression = "^(.*)$"
	} else if strings.HasSuffix(pattern, "/...") {
		expression = strings.TrimSuffix(expression, "$") + "(?:/|$)"
	}
	if m := regexp.MustCompile(expression).FindStringSubmatch(path); m != nil {
		return m[1]
	}
	return ""
}

// forbids reports whether an entry of rule.never matches a package.
func forbids(never, path string) bool {
	if never == anyModule {
		domain, _, _ := strings.Cut(path, "/")
		return strings.Contains(domain, ".") && !strings.HasPrefix(path, module+"/")
	}
	if own, ours := strings.CutPrefix(never, "."); ours {
		never = module + own
	}
	return strings.HasPrefix(path+"/", strings.TrimSuffix(never, "/")+"/")
}

func TestModule(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Dir,GoFiles,Imports", module+"/...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the packages of %s: %v", module, err)
	}
	g := graph{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p pkg
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, module+"/") {
			for _, name := range p.GoFiles {
				file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
				if err != nil {
					t.Fatal(err)
				}
				p.docLines = max(p.docLines, strings.Count(file.Doc.Text(), "\n"))
			}
			if len(p.GoFiles) == 0 { // has tests only
				continue
			}
		}
		g[p.ImportPath] = p
	}
	for _, broken := range g.check() {
		t.Error(broken)
	}
}

// The modules in dev require no forbidden module either. Because this test opens every directory, the cached
// result of the package is dropped when a file changes.
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
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		for word := range strings.FieldsSeq(string(text)) {
			if why := notRequired(filepath.ToSlash(dir), word); why != "" {
				t.Error(why)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each rule can fail, and accepts allowed imports. Our packages start with "./".
func TestCheck(t *testing.T) {
	const fine = ""
	for imports, want := range map[string]string{
		"./catalog: net/netip ./internal/objectmeta":                           fine,
		"./catalog/zones: ./catalog":                                           fine,
		"./catalog: golang.org/x/net/idna":                                     "catalog → golang.org/x/net/idna",
		"./catalog: ./internal/latest":                                         "catalog imports internal/latest",
		"./internal/objectmeta: ./internal/run":                                "internal/objectmeta imports internal/run",
		"./api/policy: ./catalog":                                              "api/policy imports catalog",
		"./kube: k8s.io/client-go/rest":                                        fine,
		"./kube: ./internal/wire":                                              fine,
		"./kube: ./kube/kinds":                                                 "kube imports kube/kinds",
		"./kube/kinds: ./kube ./catalog ./api/linkerd":                         fine,
		"./kube/kinds: ./destination":                                          "kube/kinds imports destination",
		"./destination/view: ./internal/a; ./internal/a: k8s.io/api":           "destination/view → internal/a → k8s.io/api",
		"./destination: a.org/a; a.org/a: a.org/b; a.org/b: k8s.io/api":        "destination → a.org/a → a.org/b → k8s.io/api",
		"./destination: ./internal/a; ./internal/a: ./dns/plan":                "destination → internal/a → dns/plan",
		"./destinations: ./catalog ./kube":                                     fine,
		"./destination: github.com/linkerd/linkerd2-proxy-api/go/destination":  fine,
		"./xds: ./destination":                                                 "xds imports destination",
		"./controllers/watched: ./catalog":                                     "controllers/watched imports catalog",
		"./controllers: k8s.io/kubernetes/pkg/controller":                      "controllers → k8s.io/kubernetes/pkg/controller",
		"./dns: ./internal/run":                                                "dns → internal/run",
		"./app/xdsclient: text/template":                                       "app/xdsclient imports text/template",
		"./app: github.com/spf13/cobra; github.com/spf13/cobra: text/template": fine,
		"./dns: net/http":                                                      "dns → net/http",
		"./dns/publisher: ./destination":                                       "dns/publisher → destination",
		"./dns/source/ingress/class: ./dns/source/ingress":                     fine,
		"./dns/source/ingress/class: ./dns/source/service":                     "dns/source/ingress/class imports dns/source/service",
		"./dns/provider/azure: ./dns ./dns/provider/httpapi":                   fine,
		"./dns/provider/azure: ./dns/provider/azureprivate":                    "dns/provider/azure imports dns/provider/azureprivate",
		"./dns/provider/azure: k8s.io/api/core/v1":                             "dns/provider/azure → k8s.io/api/core/v1",
		"./dns/provider: ./dns/provider/rfc2136":                               "dns/provider imports dns/provider/rfc2136",
		"./dns/listlimit: net/http":                                            "dns/listlimit → net/http",
		"./dns/budget: ./dns/budget/configmap":                                 "dns/budget imports dns/budget/configmap",
		"./controllers: ./app/settings":                                        "imports go downwards",
		"./app/destclient: ./app/process":                                      "app/destclient → app/process",
		"./internal/run: ./kube":                                               "internal/run → kube",
		"./cmd/signpost: ./destination ./controllers ./dns ./kube":             fine,
		"./cmd/signpost: ./testkit/a; ./testkit/a: testing":                    "cmd/signpost → testkit/a → testing",
		"./cmd/signpost: " + hcloud + "; " + hcloud + ": testing":              fine,
		"./internal/a: github.com/linkerd/linkerd2/pkg/k8s":                    "internal/a → github.com/linkerd/linkerd2/pkg/k8s",
		"./dev/demo: sigs.k8s.io/external-dns/endpoint":                        "dev/demo → sigs.k8s.io/external-dns/endpoint",
		"./internal/util:":                                                     "internal/util: its name",
	} {
		g := graph{}
		for p := range strings.SplitSeq(strings.ReplaceAll(imports, "./", module+"/"), "; ") {
			path, imported, _ := strings.Cut(p, ":")
			g[path] = pkg{ImportPath: path, Imports: strings.Fields(imported), docLines: 7}
		}
		broken := strings.Join(g.check(), "\n")
		if want == fine && broken != "" || !strings.Contains(broken, want) {
			t.Errorf("%s: got %q, want %q", imports, broken, want)
		}
	}
	undocumented := graph{"": {ImportPath: module + "/internal/run", docLines: 1}}
	if broken := undocumented.check(); len(broken) != 1 {
		t.Errorf("got %q of a package without a comment, want one complaint", broken)
	}
	if notRequired("dev/bench", "k8s.io/kubernetes") == "" || notRequired("dev/localcluster", "k8s.io/kubernetes") != "" || notRequired(".", "sigs.k8s.io/external-dns") == "" {
		t.Error("a forbidden module is not found in go.mod")
	}
}
