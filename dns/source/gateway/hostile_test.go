package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// opened returns a source that is not running.
func opened(t *testing.T, plugin source.Plugin) *routes {
	t.Helper()
	settings, err := source.NewOptions().Settings()
	if err != nil {
		t.Fatal(err)
	}
	config := plugin.New().(*Config)
	scopes, err := config.scopes(settings)
	if err != nil {
		t.Fatal(err)
	}
	return &routes{
		kind: config.kind, scopes: scopes,
		reader: source.NewReader(source.Input{Settings: settings, Plugin: plugin}, source.Subject{Kind: config.routes(), Label: config.kind.name}),
	}
}

// trimmed returns what is kept of a route.
func (s *routes) trimmed(scope kube.Scope, obj *unstructured.Unstructured) *route {
	kept, _ := source.Custom(s.reader, s.kind.name, s.kind.plural, s.readRoute).Trim(scope, obj)
	return kept
}

// many returns a list of items.
func many(n int, item func(i int) any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = item(i)
	}
	return list
}

func custom(kind, name string, spec, status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"namespace": "default", "name": name},
		"spec": spec, "status": status,
	}}
}

func acceptedCondition() []any { return []any{map[string]any{"type": "Accepted", "status": "True"}} }

func gatewayRef(i int) map[string]any { return map[string]any{"name": fmt.Sprint("edge-", i)} }

// TestHostileRoute shows that limits bound the cost of a route with thousands of parents and names, on
// Gateways with thousands of listeners, and that the excess is reported.
func TestHostileRoute(t *testing.T) {
	const thousands = 5000
	s := opened(t, HTTPRoute())
	obj := custom("HTTPRoute", "shop", map[string]any{
		"hostnames":  many(thousands, func(i int) any { return fmt.Sprintf("*.%d.example.org", i) }),
		"parentRefs": many(thousands, func(i int) any { return gatewayRef(i) }),
	}, map[string]any{
		"parents": many(thousands, func(i int) any {
			return map[string]any{"parentRef": gatewayRef(i), "conditions": acceptedCondition()}
		}),
	})
	r := s.trimmed(kube.NewScope("local"), obj)
	if len(r.hostnames) != source.NameLimit || len(r.parents) != source.ReferenceLimit {
		t.Errorf("%d names and %d parents are kept, want %d and %d", len(r.hostnames), len(r.parents), source.NameLimit, source.ReferenceLimit)
	}
	var fields []string
	for _, p := range problemsOf(&r.findings) {
		fields = append(fields, p.Subject)
		if !strings.HasPrefix(p.Reason, "5000 items: the first ") {
			t.Errorf("problem %+v", p)
		}
	}
	if got := strings.Join(fields, " "); got != "spec.hostnames spec.parentRefs status.parents" {
		t.Errorf("problems of %s", got)
	}
}

// TestHostileGateway shows that parts of a Gateway that are beyond a limit or invalid are problems, and that
// the rest is used.
func TestHostileGateway(t *testing.T) {
	s := opened(t, HTTPRoute())
	long := strings.Repeat("a", 300)
	listener := func(i int) any {
		return map[string]any{"name": fmt.Sprint("l-", i), "protocol": "HTTP", "port": int64(1 + i), "allowedRoutes": map[string]any{
			"kinds": many(100, func(int) any { return map[string]any{"kind": "HTTPRoute"} }),
		}}
	}
	selecting := func(selector map[string]any) map[string]any {
		return map[string]any{"name": "web", "protocol": "HTTP", "allowedRoutes": map[string]any{"namespaces": map[string]any{"from": "Selector", "selector": selector}}}
	}
	tests := []struct {
		name string
		obj  *unstructured.Unstructured
		// listeners and targets are the numbers of kept ones.
		listeners, targets int
		problem            string
	}{
		{"addresses", custom("Gateway", "g", nil, map[string]any{"addresses": many(5000, func(i int) any { return map[string]any{"value": fmt.Sprint("t", i)} })}), 0, source.AddressLimit, "5000 items"},
		{"a long address", custom("Gateway", "g", nil, map[string]any{"addresses": []any{map[string]any{"value": long}, map[string]any{"value": "192.0.2.1"}}}), 0, 1, "too long"},
		{"listeners", custom("Gateway", "g", map[string]any{"listeners": many(5000, listener)}, nil), listenersLimit, 0, "5000 items"},
		{"no hostname", custom("Gateway", "g", map[string]any{"listeners": []any{map[string]any{"name": "web", "protocol": "HTTP", "hostname": "192.0.2.1"}, listener(1)}}, nil), 1, 0, "is no name of DNS"},
		{"a bad selector", custom("Gateway", "g", map[string]any{"listeners": []any{selecting(map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Near"}}})}}, nil), 1, 0, "can't be used"},
		{"a large selector", custom("Gateway", "g", map[string]any{"listeners": []any{selecting(map[string]any{"matchExpressions": many(100, func(int) any {
			return map[string]any{"key": "a", "operator": "Exists"}
		})})}}, nil), 1, 0, "too large"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, problems := s.trimGateway(kube.NewScope("local"), test.obj)
			if g == nil || len(g.listeners) != test.listeners || len(g.targets) != test.targets {
				t.Errorf("kept %+v, want %d listeners and %d targets", g, test.listeners, test.targets)
			}
			if len(problems) == 0 || !strings.Contains(problems[0].Reason, test.problem) {
				t.Errorf("problems %+v, want one that says %q", problems, test.problem)
			}
			if g != nil && strings.Contains(test.name, "selector") && g.listeners[0].routes.admits("default", "default", &source.Namespace{Labels: map[string]string{"a": "b"}}) {
				t.Error("a selector that can't be used selects a namespace")
			}
		})
	}
	unreadable := custom("Gateway", "g", map[string]any{"listeners": "none"}, nil)
	if g, problems := s.trimGateway(kube.NewScope("local"), unreadable); g != nil || len(problems) != 1 {
		t.Errorf("an unreadable Gateway is kept as %+v, with the problems %+v; the last good version should stay", g, problems)
	}
}

// TestLargestRoute shows that the most expensive route within the limits is evaluated in time.
func TestLargestRoute(t *testing.T) {
	s := opened(t, HTTPRoute())
	names := make([]string, source.NameLimit)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d.example.org", strings.Repeat("a", 50), i)
	}
	listeners := make([]listener, listenersLimit)
	for i := range listeners {
		listeners[i] = listener{hostname: "*.example.org", routes: admission{from: fromAll}}
	}
	targets := make([][]string, source.ReferenceLimit)
	for i := range targets {
		for j := range source.AddressLimit {
			targets[i] = append(targets[i], fmt.Sprintf("192.%d.%d.1", i, j))
		}
	}
	start := time.Now()
	served := map[string]source.ReferenceSet{}
	for i := range source.ReferenceLimit {
		serve(served, i, listeners, names, make([]bool, len(names)))
	}
	var p source.Findings
	records := s.recordsOf(&p, &route{Object: source.Object{Annotations: &source.Annotations{}}}, served, targets)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if len(records) != source.NameLimit || len(records[0].Targets) != source.AddressLimit || len(problemsOf(&p)) != 1 {
		t.Errorf("%d records with %d targets, and %d problems", len(records), len(records[0].Targets), len(problemsOf(&p)))
	}
}

func problemsOf(f *source.Findings) []dns.Problem {
	var result source.Result
	f.Into(&result, dns.Object{})
	return result.Problems
}
