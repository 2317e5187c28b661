// Package importrules tests which package of Signpost imports which, and what modules require. To loosen a
// rule is a decision about the architecture: change docs/architecture.md together with the table in
// rules_test.go.
package importrules

const module = "github.com/signpostd/signpost"

// A rule restricts the packages that one of the patterns in from matches. Patterns are relative to module:
// "a" is that package; "a/..." is it and all packages below, one tree; "a/*/..." is all packages below a,
// with a tree for each package directly below.
type rule struct {
	from []string
	// only, unless nil, matches which of our packages may be imported directly, besides those in the same tree.
	only []string
	// never lists import paths that must not be imported, directly or not, each including everything below.
	// Our own start with "./".
	never []string
	// neverDirectly lists import paths that must not be imported directly.
	neverDirectly []string
	// why is the second half of the message for a violation.
	why string
}

// rules has one entry for each line of "Who may import whom".
var rules = []rule{
	{
		from:  []string{"internal/objectmeta/..."},
		only:  []string{},
		never: []string{anyModule},
		why:   "what is said of any object is for everybody: it imports the standard library only",
	},
	{
		from:  []string{"catalog/..."},
		only:  []string{"internal/objectmeta"},
		never: []string{anyModule},
		why:   "catalog imports internal/objectmeta and the standard library only",
	},
	{
		from: []string{"api/..."},
		only: []string{},
		why:  "api is types: it imports nothing of ours",
	},
	{
		from: []string{"kube"},
		only: []string{"internal/objectmeta", "internal/panics", "internal/pause", "internal/sanitize", "internal/wire"},
		why:  "kube is an engine, which can be understood and used alone: it imports a few leaves of internal, and nothing of ours besides",
	},
	{
		from: []string{"kube/*/..."},
		only: []string{"kube", "kube/kinds", "catalog/...", "api/...", "internal/..."},
		why:  "what stands on the engine imports it, its kinds, catalog and api",
	},
	{
		from:  []string{"destination/..."},
		only:  []string{"catalog/...", "internal/..."},
		never: []string{"k8s.io", "./kube", "./controllers", "./dns"},
		why:   "destination imports catalog, knows no Kubernetes client and none of the other ways out",
	},
	{
		from:  []string{"xds/..."},
		only:  []string{"catalog/...", "internal/..."},
		never: []string{"k8s.io", "./kube", "./controllers", "./destination", "./dns"},
		why:   "xds imports catalog, knows no Kubernetes client and none of the other ways out",
	},
	{
		from:  []string{"controllers/..."},
		only:  []string{"kube/...", "api/...", "internal/..."},
		never: []string{"./destination", "./dns"},
		why:   "controllers import kube and api, not the catalog, and none of the other ways out",
	},
	{
		from:  []string{"dns"},
		never: []string{"./", "k8s.io", "github.com/spf13/pflag", "github.com/prometheus", "net/http"},
		why:   "dns is values: no flags, no metrics, no HTTP, and nothing of ours",
	},
	{
		from:  []string{"dns/..."},
		never: []string{"./destination", "./controllers"},
		why:   "dns imports none of the other ways out",
	},
	{
		from: []string{"dns/source/*/..."},
		only: []string{"dns", "dns/source", "dns/source/istio", "kube/...", "api/...", "internal/..."},
		why:  "a source imports dns, what the sources of Istio share, kube and what those are made of, not the catalog and no other source",
	},
	{
		from:  []string{"dns/provider"},
		only:  []string{"dns", "dns/listlimit", "internal/..."},
		never: []string{"k8s.io"},
		why:   "the contract of providers imports dns and the limits of listings: no Kubernetes, no provider",
	},
	{
		from:  []string{"dns/listlimit"},
		only:  []string{"dns", "internal/sanitize"},
		never: []string{"k8s.io", "github.com/prometheus", "net/http"},
		why:   "the limits of listings are counting: they import dns, and neither Kubernetes nor HTTP",
	},
	{
		from:  []string{"dns/budget"},
		only:  []string{"dns"},
		never: []string{"k8s.io", "github.com/prometheus", "net/http"},
		why:   "the budget is counting: it imports dns, and neither Kubernetes nor HTTP",
	},
	{
		from:  []string{"dns/provider/*/..."},
		only:  []string{"dns", "dns/awsaccess", "dns/listlimit", "dns/provider", "dns/provider/batch", "dns/provider/httpapi", "dns/provider/properties", "internal/..."},
		never: []string{"k8s.io"},
		why:   "a provider imports its contract, dns, what providers over HTTP, with batches or of AWS share, and its SDK: no Kubernetes, no other provider",
	},
	{
		from:  []string{"api/...", "catalog/...", "controllers/...", "destination/...", "dns/...", "internal/...", "kube/...", "xds/..."},
		never: []string{"./app", "./cmd", "./dev"},
		why:   "imports go downwards: app, cmd and dev are above the roles, and no role knows them",
	},
	{
		from:  []string{"internal/..."},
		never: []string{"./catalog", "./controllers", "./destination", "./dns", "./kube", "./xds"},
		why:   "internal has leaves only, which import nothing of ours but each other and api",
	},
	{
		from:  []string{"app/destclient/...", "app/check/...", "app/preview/...", "app/settings/..."},
		never: []string{"./app/process"},
		why:   "settings, client commands, checks and previews need no process that runs",
	},
	{
		from:  []string{"cmd/..."},
		never: []string{"testing"},
		why:   "what the binary links contains no test code",
	},
	{
		from:          []string{"api/...", "app/...", "catalog/...", "cmd/...", "controllers/...", "destination/...", "dns/...", "internal/...", "kube/...", "xds/..."},
		neverDirectly: []string{"text/template", "html/template"},
		why:           "a template makes the linker keep all methods, 30 MB (docs/performance/build.md)",
	},
	{
		from: []string{"..."},
		never: []string{
			"github.com/linkerd/linkerd2",
			"sigs.k8s.io/external-dns",
			"k8s.io/kubernetes",
		},
		why: "what Signpost replaces is not part of it; Kubernetes itself is for dev/localcluster",
	},
}

// anyModule stands for every package outside the standard library and this module.
const anyModule = "(any module)"

// forbiddenNames are package names that don't describe a purpose.
var forbiddenNames = []string{
	"util", "common", "helpers", "types", "wrappers", "factory", "manager", "watcher",
}

// notRequired returns the reason why the module in dir must not require another one, or "".
func notRequired(dir, required string) string {
	switch {
	case required == "github.com/linkerd/linkerd2", required == "sigs.k8s.io/external-dns":
		return dir + "/go.mod requires " + required + ": what Signpost replaces is not part of it"
	case required == "k8s.io/kubernetes" && dir != "dev/localcluster":
		return dir + "/go.mod requires " + required + ": only dev/localcluster may"
	}
	return ""
}
