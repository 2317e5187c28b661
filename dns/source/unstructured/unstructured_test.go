package unstructured_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/unstructured"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

// known is a config that knows the kinds of the tests' objects.
type known struct{ *unstructured.Config }

var kinds = map[string]string{"widgets": "Widget", "gadgets": "Gadget", "configmaps": "ConfigMap", "nodes": "Node"}

func (k known) Resources() []source.Resource {
	resources := k.Config.Resources()
	for i := range resources {
		resources[i].Kind.Kind = kinds[resources[i].Plural]
	}
	return resources
}

func plugin() source.Plugin {
	p := unstructured.Plugin()
	p.New = func() source.Config { return known{unstructured.Plugin().New().(*unstructured.Config)} }
	return p
}

func TestScenarios(t *testing.T) { sourcetest.Run(t, plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, plugin(), "lifecycle", "templates", "pairs")
}

// TestBadResources shows that an invalid resource is an error at the start, with the flag and an advice (case
// 207).
func TestBadResources(t *testing.T) {
	t.Parallel()
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("kind%d.v1.example.com", i)
	}
	tests := map[string]struct {
		values []string
		want   []string
	}{
		"none":              {nil, []string{"no resource to read"}},
		"empty":             {[]string{""}, []string{`--unstructured-resource ""`, "there is no version"}},
		"no version":        {[]string{"widgets"}, []string{`"widgets": there is no version`, "plural.version.group"}},
		"group and version": {[]string{"widgets.example.com"}, []string{`"example" is no version`}},
		"kubectl's order":   {[]string{"example.com/v1/widgets"}, []string{`"com/v1/widgets" is no version`}},
		"a kind":            {[]string{"Widget.v1.example.com"}, []string{`"Widget" is no plural name`}},
		"a subresource":     {[]string{"pods/status.v1"}, []string{`"pods/status" is no plural name`}},
		"no group":          {[]string{"widgets.v1."}, []string{`"" is no API group`}},
		"a bad group":       {[]string{"widgets.v1.Example"}, []string{`"Example" is no API group`}},
		"a path":            {[]string{"widgets.v1.example.com/../secrets"}, []string{`is no API group`}},
		"two versions":      {[]string{"widgets.v1.example.com", "widgets.v1beta1.example.com"}, []string{"widgets.example.com is named in the version v1, too"}},
		"each of several":   {[]string{"a", "widgets.v1.example.com", "b"}, []string{`"a": there is no version`, `"b": there is no version`}},
		"too many":          {many, []string{"101 resources; name at most 100"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unstructured.Plugin().New().(*unstructured.Config).Open(source.Input{})
			if test.values != nil {
				_, err = (&unstructured.Config{Names: test.values}).Open(source.Input{})
			}
			for _, want := range append(test.want, "--unstructured-resource") {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one that says %s", err, want)
				}
			}
		})
	}
}

// TestResources shows that a repeated resource counts once.
func TestResources(t *testing.T) {
	t.Parallel()
	c := &unstructured.Config{Names: []string{"widgets.v1.example.com", "nodes.v1", " widgets.v1.example.com "}}
	s, err := unstructured.Plugin().Open(c, source.Input{Changed: func(source.Key) {}})
	if err != nil || len(s.Tables) != 2 {
		t.Fatalf("%d tables, %v; want 2", len(s.Tables), err)
	}
	var scopes []source.Scope
	for _, r := range c.Resources() {
		scopes = append(scopes, r.Scope)
		if r.Kind.Kind != "" || !r.Optional {
			t.Errorf("resource %+v: want an optional one of an unknown kind", r)
		}
	}
	if want := []source.Scope{source.InNamespaces, source.InNone}; !slices.Equal(scopes, want) {
		t.Errorf("scopes %v, want %v", scopes, want)
	}
}

const prefix = "external-dns.kubernetes.io/"

func widget(kind, name, annotations, more string) string {
	return fmt.Sprintf("---\napiVersion: example.com/v1\nkind: %s\nmetadata: {name: %s, annotations: {%s}}\n%s\n", kind, name, annotations, more)
}

// TestSkipped shows that an object without a record has a reason and an advice.
func TestSkipped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, annotations string
		flags             []string
		reason            source.SkipReason
		message           string
	}{
		{"nothing", "", nil, source.SkipNoHostname, "/hostname"},
		{"a name", prefix + "hostname: a.example.org", nil, source.SkipNoTarget, "/target"},
		{"a target", prefix + "target: 192.0.2.1", nil, source.SkipNoHostname, "/hostname"},
		{"an empty template", "", []string{"--fqdn-template={{if false}}a{{end}}"}, source.SkipNoHostname, "templates write no name"},
		{"a template without targets", "", []string{"--fqdn-template=a.example.org"}, source.SkipNoHostname, "or no target"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			flags := append([]string{"--unstructured-resource=widgets.v1.example.com"}, test.flags...)
			s := sourcetest.MustOpen(t, plugin(), widget("Widget", "a", test.annotations, ""), flags...)
			got := s.Evaluate(source.Key{Kind: "Widget.example.com", Namespace: "default", Name: "a"})
			sourcetest.WantSkip(t, got, test.reason, test.message)
		})
	}
}

// TestNodes shows that cluster-scoped objects are published whatever --namespace is, as by the source node.
func TestNodes(t *testing.T) {
	t.Parallel()
	s := sourcetest.MustOpen(t, plugin(), "{apiVersion: v1, kind: Node, metadata: {name: a, annotations: {"+prefix+"hostname: a.example.org, "+prefix+"target: 192.0.2.1}}}",
		"--unstructured-resource=nodes.v1", "--namespace=shop")
	if got, want := s.Records(), "a\n  a.example.org A 192.0.2.1 resource=node/a\n"; got != want {
		t.Errorf("records\n%swant\n%s", got, want)
	}
}

// TestHostile shows that limits bound the cost of an object with too many names and targets, and that the
// excess is reported.
func TestHostile(t *testing.T) {
	t.Parallel()
	var names, targets, lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, "n%d.example.org,", i)
		fmt.Fprintf(&targets, "192.0.%d.%d,", i/250, i%250)
		fmt.Fprintf(&lines, "p%d.example.org:192.0.2.1,", i)
	}
	annotated := func(names, targets string) string {
		return widget("Widget", "a", fmt.Sprintf("%shostname: %q, %starget: %q", prefix, names, prefix, targets), "")
	}
	written := widget("Widget", "a", "", fmt.Sprintf("spec: {names: %q, targets: %q, pairs: %q}", names.String(), targets.String(), lines.String()))
	tests := []struct {
		name, manifest string
		flags          []string
		// records is the number of record sets, and targets that of the targets of each.
		records, targets int
		problem          string
	}{
		{"names of annotations", annotated(names.String(), "192.0.2.1"), nil, source.NameLimit, 1, "hostname"},
		{"targets of annotations", annotated("a.example.org", targets.String()), nil, 1, source.AddressLimit, "target"},
		{"names of templates", written, []string{"--fqdn-template={{.Spec.names}}", "--target-template=192.0.2.1"}, source.NameLimit, 1, "--fqdn-template"},
		{"targets of templates", written, []string{"--fqdn-template=a.example.org", "--target-template={{.Spec.targets}}"}, 1, source.AddressLimit, "--target-template"},
		{"pairs", written, []string{"--fqdn-target-template={{.Spec.pairs}}"}, source.NameLimit, 1, "--fqdn-target-template"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, plugin(), test.manifest, append([]string{"--unstructured-resource=widgets.v1.example.com"}, test.flags...)...)
			got := s.Evaluate(source.Key{Kind: "Widget.example.com", Namespace: "default", Name: "a"})
			if got.Err != nil || len(got.Records) != test.records || len(got.Records[0].Targets) != test.targets {
				t.Fatalf("%d records, error %v; want %d with %d targets", len(got.Records), got.Err, test.records, test.targets)
			}
			if len(got.Problems) != 1 || got.Problems[0].Subject != test.problem || got.Problems[0].Object.Name != "a" || !strings.Contains(got.Problems[0].Reason, "5000 items: the first ") {
				t.Errorf("problems %+v, want one of %s", got.Problems, test.problem)
			}
		})
	}
}

// TestKeys has objects of two kinds, one of them excluded: the kit checks that Keys lists both.
func TestKeys(t *testing.T) {
	t.Parallel()
	objects := widget("Widget", "a", prefix+"controller: other", "") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {" + prefix + "hostname: a.example.org}}}\n"
	s := sourcetest.MustOpen(t, plugin(), objects, "--unstructured-resource=widgets.v1.example.com", "--unstructured-resource=configmaps.v1")
	if n := len(s.All()); n != 2 {
		t.Errorf("%d objects are known, want 2", n)
	}
}
