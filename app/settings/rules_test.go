package settings

import (
	"strings"
	"testing"
)

// tenants S2: domains of namespaces, as texts of the flag and as mappings.
func TestNamespaceDomains(t *testing.T) {
	const file = `
apiVersion: signpost.dev/v1alpha1
kind: Config
dns:
  publishers:
    - source: service
      provider: inmemory
      policy: sync
      namespace-domains: `
	tests := map[string]struct{ value, want, err string }{
		"a text":    {value: "a=a.test", want: "a=a.test"},
		"texts":     {value: "[a=a.test, '{team=x}=b.test,c.test']", want: "a=a.test {team=x}=b.test,c.test"},
		"a mapping": {value: "{namespace: a, domains: [a.test, b.test]}", want: "a=a.test,b.test"},
		"mappings": {
			value: "[{selector: 'team in (x, y)', domains: [A.test.]}, {all: true, domains: [b.test]}, {clusterScoped: true, domains: [c.test]}]",
			want:  "{team in (x, y)}=a.test *=b.test -=c.test",
		},
		"two of one":      {value: "{namespace: a, all: true, domains: [a.test]}", err: "one of namespace, selector, all: true and clusterScoped: true"},
		"nobody":          {value: "{domains: [a.test]}", err: "one of namespace, selector, all: true and clusterScoped: true"},
		"no domain":       {value: "{namespace: a}", err: "has no domains"},
		"a comma":         {value: "{namespace: a, domains: ['a.test,b.test']}", err: "has a comma"},
		"unknown field":   {value: "{namespaces: [a], domains: [a.test]}", err: "unknown field namespaces of a rule"},
		"a wrong type":    {value: "{namespace: [a], domains: [a.test]}", err: "give the name of a namespace"},
		"a wrong domain":  {value: "{namespace: a, domains: ['*.a.test']}", err: "which stands for itself and all names below it"},
		"a bad selector":  {value: "{selector: 'a=)', domains: [a.test]}", err: "label selector"},
		"a bad namespace": {value: "B_=a.test", err: "no namespace has such a name"},
	}
	for name, test := range tests {
		c, err := Decode("config.yaml", []byte(file+test.value+"\n"), References{})
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: the error is %v, want %q", name, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var rules []string
		for _, r := range c.DNS.Publishers[0].NamespaceDomains {
			rules = append(rules, r.String())
		}
		if got := strings.Join(rules, " "); got != test.want {
			t.Errorf("%s: the rules are %q, want %q", name, got, test.want)
		}
	}
}

// The policy namespace is the default of config files, unless nobody owns records.
func TestNamePolicyOfFiles(t *testing.T) {
	for fields, want := range map[string]string{
		"": "namespace", "name-policy: shared": "shared", "registry: noop": "shared", "registry: noop\n      name-policy: shared": "shared",
	} {
		c, err := Decode("config.yaml", []byte("apiVersion: signpost.dev/v1alpha1\nkind: Config\ndns:\n  publishers:\n    - source: service\n      provider: inmemory\n      policy: sync\n      "+fields+"\n"), References{})
		if err != nil {
			t.Errorf("%q: %v", fields, err)
			continue
		}
		if got := c.DNS.Publishers[0].NamePolicy; got != want {
			t.Errorf("%q: the policy is %s, want %s", fields, got, want)
		}
	}
}
