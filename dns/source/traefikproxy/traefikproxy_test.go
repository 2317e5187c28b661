package traefikproxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/traefikproxy"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, traefikproxy.Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, traefikproxy.Plugin(), "lifecycle", "legacy")
}

const prefix = "external-dns.kubernetes.io/"

// object returns a route whose rules have these matches.
func object(kind, metadata string, matches ...string) string {
	text := fmt.Sprintf("---\napiVersion: traefik.io/v1alpha1\nkind: %s\nmetadata: {%s}\nspec: {routes: [", kind, metadata)
	for _, match := range matches {
		text += fmt.Sprintf("{match: %q}, ", match)
	}
	return text + "]}\n"
}

// TestSkipped shows that a route without a record has a reason and an advice.
func TestSkipped(t *testing.T) {
	t.Parallel()
	skips := sourcetest.Skips(t, traefikproxy.Plugin(), source.Key{Kind: "IngressRoute.traefik.io", Namespace: "default", Name: "a"})
	skips("no host", object("IngressRoute", "name: a, annotations: {"+prefix+"target: 192.0.2.1}", "PathPrefix(`/`)"), source.SkipNoHostname, "spec.routes")
	skips("no target", object("IngressRoute", "name: a", "Host(`a.example.org`)"), source.SkipNoTarget, "/target")
	skips("no names of UDP", object("IngressRoute", "name: a"), source.SkipNoHostname, "/hostname")
	skips("an empty template", object("IngressRoute", "name: a"), source.SkipNoHostname, "templates write no name", "--fqdn-template={{if false}}a{{end}}")
}

// TestHostile shows that limits bound the cost of a route with too many rules and names, and that the excess
// is reported.
func TestHostile(t *testing.T) {
	t.Parallel()
	var rules []string
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprintf("`n%d.example.org`", i)
		rules = append(rules, fmt.Sprintf("Host(`r%d.example.org`)", i))
	}
	long := strings.Repeat("a", 300)
	tests := []struct {
		name     string
		rules    []string
		records  int
		problems []string
	}{
		{"names in a rule", []string{"Host(" + strings.Join(names, ",") + ")"}, source.NameLimit, []string{"3000 items: the first 512"}},
		{"rules", rules, source.NameLimit, []string{"3000 items: the first 1024", "more than 512 names", "more than 512 names", "more than 512 names", "more than 512 names", "more than 512 names", "more than 512 names", "more than 512 names", "and 505 more problems"}},
		{"a long name", []string{"Host(`" + long + "`) || Host(`a.example.org`)"}, 1, []string{"longer than 254 bytes"}},
		{"a long rule", []string{"Host(`" + strings.Repeat("a", 1<<17) + "`)", "Host(`a.example.org`)"}, 1, []string{"longer than 65536 bytes"}},
		{"the same name", []string{strings.Repeat("Host(`a.example.org`) || ", 400)}, 1, nil},
		{"no UTF-8", []string{"Host(`a.example.org`) \xff"}, 1, []string{"outside of quotes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, traefikproxy.Plugin(), object("IngressRoute", "name: a, annotations: {"+prefix+"target: 192.0.2.1}", test.rules...))
			got := s.Evaluate(source.Key{Kind: "IngressRoute.traefik.io", Namespace: "default", Name: "a"})
			if got.Err != nil || len(got.Records) != test.records || len(got.Problems) != len(test.problems) {
				t.Fatalf("%d records, error %v, problems %+v; want %d and %q", len(got.Records), got.Err, got.Problems, test.records, test.problems)
			}
			for i, p := range got.Problems {
				if !strings.Contains(p.Reason, test.problems[i]) || len(p.Value) > 70 || p.Object.Kind != "IngressRoute" {
					t.Errorf("problem %+v, want %q", p, test.problems[i])
				}
			}
		})
	}
}

// TestResources shows that the resources depend on the flags, and that all are optional.
func TestResources(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*traefikproxy.Config{
		"traefik.io":                     {},
		"traefik.io traefik.containo.us": {Legacy: true},
		"traefik.containo.us":            {Legacy: true, DisableNew: true},
	} {
		var groups []string
		for _, r := range c.Resources() {
			groups = append(groups, r.Kind.Group)
			if !r.Optional {
				t.Errorf("%s isn't optional", r.Plural)
			}
		}
		if got := strings.Join(slices.Compact(groups), " "); got != want || len(groups)%3 != 0 {
			t.Errorf("%+v reads %q, want three kinds of each of %q", c, groups, want)
		}
	}
}
