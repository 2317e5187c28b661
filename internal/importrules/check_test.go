package importrules

import (
	"strings"
	"testing"
)

// graph makes packages from lines such as "kube: catalog k8s.io/client-go". A
// path is ours if its first word is a directory of the tree, of the standard
// library if that has no dot, and of another module otherwise. "path(name)" gives it
// another name than the end of its path, "path[0]" has no comment.
func graph(lines ...string) []Package {
	full := func(path string) string {
		switch top, _, _ := strings.Cut(path, "/"); top {
		case "api", "app", "catalog", "cmd", "controllers", "destination", "dev", "dns", "internal", "kube", "testkit":
			return Module + "/" + path
		}
		return path
	}
	packages := map[string]Package{}
	var order []string
	add := func(p Package) {
		if _, known := packages[p.ImportPath]; !known {
			order = append(order, p.ImportPath)
		}
		packages[p.ImportPath] = p
	}
	for _, line := range lines {
		path, imports, _ := strings.Cut(line, ":")
		path, name, _ := strings.Cut(strings.TrimSuffix(path, ")"), "(")
		p := Package{Name: name, DocLines: 7}
		if bare, ok := strings.CutSuffix(path, "[0]"); ok {
			path, p.DocLines = bare, 0
		}
		p.ImportPath = full(path)
		for _, imported := range strings.Fields(imports) {
			p.Imports = append(p.Imports, full(imported))
		}
		add(p)
	}
	for _, p := range packages {
		for _, imported := range p.Imports {
			if _, known := packages[imported]; !known {
				first, _, _ := strings.Cut(imported, "/")
				add(Package{ImportPath: imported, DocLines: 7, Standard: !strings.Contains(first, ".")})
			}
		}
	}
	result := make([]Package, 0, len(order))
	for _, path := range order {
		result = append(result, packages[path])
	}
	return result
}

// Each rule lets through what it allows, and can fail.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name  string
		graph []string
		want  string // part of the only complaint; "" for none
	}{
		{"catalog: standard library", []string{"catalog: net/netip iter"}, ""},
		{"catalog: itself", []string{"catalog/zones: catalog"}, ""},
		{"catalog: module", []string{"catalog: golang.org/x/net/idna"}, "catalog → golang.org/x/net/idna: catalog imports internal/objectmeta and the standard library only"},
		{"catalog: helper", []string{"catalog: internal/latest"}, "catalog imports internal/latest"},
		{"catalog: objects", []string{"catalog: internal/objectmeta"}, ""},
		{"objects: standard library", []string{"internal/objectmeta: slices"}, ""},
		{"objects: ours", []string{"internal/objectmeta: internal/run"}, "internal/objectmeta imports internal/run"},
		{"objects: module", []string{"internal/objectmeta: k8s.io/api/core/v1"}, "internal/objectmeta → k8s.io/api/core/v1"},
		{"api: types", []string{"api/policy: k8s.io/apimachinery/pkg/apis/meta/v1"}, ""},
		{"api: ours", []string{"api/policy: catalog"}, "api/policy imports catalog"},

		{"kube: allowed", []string{"kube: k8s.io/client-go/rest github.com/prometheus/client_golang/prometheus"}, ""},
		{"kube: ours", []string{"kube: internal/objectmeta"}, "kube → internal/objectmeta: kube is an engine"},
		{"kube: its own kinds", []string{"kube: kube/kinds"}, "kube → kube/kinds: kube is an engine"},
		{"kinds: allowed", []string{"kube/kinds: kube catalog api/linkerd internal/objectmeta k8s.io/api/core/v1"}, ""},
		{"kinds: way out", []string{"kube/kinds: destination"}, "kube/kinds imports destination"},
		{"links: allowed", []string{"kube/linked: kube kube/kinds catalog internal/objectmeta"}, ""},
		{"links: binary", []string{"kube/linked: cmd/x"}, "kube/linked imports cmd/x"},

		{"destination: allowed", []string{"destination/stream: destination/view catalog internal/latest google.golang.org/grpc"}, ""},
		{"destination: client-go", []string{"destination: k8s.io/client-go/kubernetes"}, "destination → k8s.io/client-go/kubernetes"},
		{
			"destination: client-go through a helper",
			[]string{"destination/view: internal/leader", "internal/leader: k8s.io/client-go/tools/leaderelection"},
			"destination/view → internal/leader → k8s.io/client-go/tools/leaderelection",
		},
		{
			"destination: client-go through a module",
			[]string{"destination: example.org/a", "example.org/a: example.org/b", "example.org/b: k8s.io/api/core/v1"},
			"destination → example.org/a → example.org/b → k8s.io/api/core/v1",
		},
		{"destination: api", []string{"destination: api/linkerd"}, "destination imports api/linkerd"},
		{"destination: dns through a helper", []string{"destination: internal/x", "internal/x: dns/plan"}, "destination → internal/x → dns/plan"},
		{"destination: a longer name", []string{"destinations: catalog kube"}, ""},

		{"controllers: allowed", []string{"controllers/mirroring: controllers kube kube/kinds api/workload internal/leader internal/objectmeta k8s.io/client-go/kubernetes"}, ""},
		{"controllers: cmd", []string{"controllers: cmd/signpost"}, "controllers imports cmd/signpost"},
		{"controllers: catalog", []string{"controllers/watched: catalog"}, "controllers/watched imports catalog"},
		{"controllers: destination through a helper", []string{"controllers: internal/x", "internal/x: destination"}, "controllers → internal/x → destination"},
		{"dns: controllers", []string{"dns/publisher: internal/x", "internal/x: controllers/endpoints"}, "dns/publisher → internal/x → controllers/endpoints"},
		{"dns: destination", []string{"dns/publisher: destination"}, "dns/publisher → destination"},
		{"dns: values", []string{"dns: golang.org/x/net/idna net/netip"}, ""},
		{"dns: flags", []string{"dns: github.com/spf13/pflag"}, "dns → github.com/spf13/pflag: dns is values"},
		{"dns: metrics through a module", []string{"dns: example.org/a", "example.org/a: github.com/prometheus/client_golang/prometheus"}, "dns → example.org/a → github.com/prometheus/client_golang/prometheus"},
		{"dns: HTTP", []string{"dns: net/http"}, "dns → net/http"},
		{"dns: ours", []string{"dns: internal/run"}, "dns → internal/run"},

		{"source: allowed", []string{"dns/source/ingress: dns kube kube/kinds internal/run k8s.io/api/networking/v1 dns/source/ingress/annotation"}, ""},
		{"source: another", []string{"dns/source/ingress: dns/source/service"}, "dns/source/ingress imports dns/source/service"},
		{"source: another from below", []string{"dns/source/ingress/class: dns/source/service"}, "dns/source/ingress/class imports dns/source/service"},
		{"source: catalog", []string{"dns/source/ingress: catalog"}, "dns/source/ingress imports catalog"},
		{"source: provider", []string{"dns/source/ingress: dns/provider/rfc2136"}, "dns/source/ingress imports dns/provider/rfc2136"},
		{"provider: allowed", []string{"dns/provider/route53: dns dns/provider internal/run github.com/aws/aws-sdk-go-v2/service/route53"}, ""},
		{"provider: over HTTP", []string{"dns/provider/azure: dns/provider/httpapi"}, ""},
		{"provider: another", []string{"dns/provider/azure: dns/provider/google"}, "dns/provider/azure imports dns/provider/google"},
		{"provider: name begins alike", []string{"dns/provider/azure: dns/provider/azureprivate"}, "dns/provider/azure imports dns/provider/azureprivate"},
		{"provider: kube", []string{"dns/provider/azure: kube"}, "dns/provider/azure imports kube"},
		{"provider: k8s.io", []string{"dns/provider/azure: k8s.io/api/core/v1"}, "dns/provider/azure → k8s.io/api/core/v1"},
		{
			"provider: k8s.io through a helper",
			[]string{"dns/provider/azure: internal/x", "internal/x: k8s.io/api/core/v1"},
			"dns/provider/azure → internal/x → k8s.io/api/core/v1",
		},

		{"budget: dns", []string{"dns/budget: dns log/slog"}, ""},
		{"budget: its store", []string{"dns/budget: dns/budget/configmap"}, "dns/budget imports dns/budget/configmap"},
		{"budget: Kubernetes", []string{"dns/budget: k8s.io/api/core/v1"}, "dns/budget → k8s.io/api/core/v1"},
		{"budget: HTTP", []string{"dns/budget: net/http"}, "dns/budget → net/http"},
		{"contract: dns", []string{"dns/provider: dns net/http github.com/spf13/pflag"}, ""},
		{"contract: a provider", []string{"dns/provider: dns/provider/rfc2136"}, "dns/provider imports dns/provider/rfc2136"},
		{"contract: Kubernetes", []string{"dns/provider: k8s.io/api/core/v1"}, "dns/provider → k8s.io/api/core/v1"},

		{"app: settings know roles", []string{"app/settings: controllers dns/configure kube"}, ""},
		{"app: a role knows settings", []string{"controllers: app/settings"}, "imports go downwards"},
		{"app: a client command knows the process", []string{"app/destclient: app/process"}, "app/destclient → app/process"},
		{"internal: a leaf knows kube", []string{"internal/run: kube"}, "internal has leaves only"},
		{"cmd: everything", []string{"cmd/signpost: destination controllers dns kube"}, ""},
		{
			"cmd: testing",
			[]string{"cmd/signpost: dns/plugins", "dns/plugins: testkit/sourcetest", "testkit/sourcetest: testing"},
			"cmd/signpost → dns/plugins → testkit/sourcetest → testing",
		},
		{"cmd: a module with a helper for tests", []string{"cmd/signpost: github.com/hetznercloud/hcloud-go/v2/hcloud", "github.com/hetznercloud/hcloud-go/v2/hcloud: testing"}, ""},
		{"test kit: testing", []string{"testkit/sourcetest: testing dns"}, ""},
		{"linkerd2", []string{"internal/x: github.com/linkerd/linkerd2/pkg/k8s"}, "internal/x → github.com/linkerd/linkerd2/pkg/k8s"},
		{"linkerd2-proxy-api", []string{"destination: github.com/linkerd/linkerd2-proxy-api/go/destination"}, ""},
		{"external-dns", []string{"dev/demo: sigs.k8s.io/external-dns/endpoint"}, "dev/demo → sigs.k8s.io/external-dns"},
		{"Kubernetes", []string{"controllers: k8s.io/kubernetes/pkg/controller/endpoint"}, "controllers → k8s.io/kubernetes/pkg/controller/endpoint"},

		{"name of a directory", []string{"internal/util(stringz):"}, `internal/util: the name "util"`},
		{"name of a package", []string{"internal/records(types):"}, `internal/records: the name "types"`},
		{"no comment", []string{"internal/run[0]:"}, "internal/run: the package comment has 0 lines"},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken := Check(graph(test.graph...))
			switch {
			case test.want == "" && len(broken) > 0:
				t.Errorf("got complaints, want none:\n%s", strings.Join(broken, "\n"))
			case test.want != "" && !strings.Contains(strings.Join(broken, "\n"), test.want):
				t.Errorf("got %d complaints, want one with %q:\n%s", len(broken), test.want, strings.Join(broken, "\n"))
			}
		})
	}
}

func TestCheckRequirement(t *testing.T) {
	for _, test := range []struct {
		dir, required string
		broken        bool
	}{
		{".", "k8s.io/client-go", false},
		{".", "k8s.io/kubernetes", true},
		{"dev/bench", "k8s.io/kubernetes", true},
		{"dev/localcluster", "k8s.io/kubernetes", false},
		{"dev/localcluster", "sigs.k8s.io/external-dns", true},
		{"dev/bench", "github.com/linkerd/linkerd2", true},
		{"dev/bench", "github.com/linkerd/linkerd2-proxy-api", false},
	} {
		if got := CheckRequirement(test.dir, test.required); (got != "") != test.broken {
			t.Errorf("%s requires %s: got %q, want a complaint: %v", test.dir, test.required, got, test.broken)
		}
	}
}
