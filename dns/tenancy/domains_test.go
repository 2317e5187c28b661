package tenancy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func rulesOf(t *testing.T, texts ...string) []Rule {
	t.Helper()
	var rules []Rule
	for _, text := range texts {
		if err := (Value{&rules}).Set(text); err != nil {
			t.Fatal(err)
		}
	}
	return rules
}

func domainsOf(t *testing.T, texts ...string) *Domains {
	t.Helper()
	teams := map[string]labels.Set{"red": {"team": "red"}, "pink": {"team": "red"}, "green": {"team": "green"}}
	d, err := NewDomains(rulesOf(t, texts...), func(namespace string) (labels.Set, bool) {
		set, known := teams[namespace]
		return set, known
	}, func(name string) bool { return strings.HasPrefix(name, "cname-") })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Names that affect other names, such as wildcards, need an exclusive domain (tenants S2).
func TestDomains(t *testing.T) {
	own := []string{"a=a.example.org", "b=b.example.org,example.net"}
	shared := []string{"a=example.org", "b=example.org", "-=nodes.example.org"}
	tests := []struct {
		rules                       []string
		namespace, name, recordType string
		allowed                     bool
	}{
		{own, "a", "a.example.org", "A", true},
		{own, "a", "www.a.example.org", "A", true},
		{own, "a", "xa.example.org", "A", false},
		{own, "a", "www.b.example.org", "A", false},
		{own, "b", "www.example.net", "A", true},
		{own, "c", "www.a.example.org", "A", false},
		{own, "", "www.a.example.org", "A", false},
		{own, "a", "*.a.example.org", "A", true},
		{own, "a", "a.example.org", "NS", true},
		{own, "a", "_acme-challenge.www.a.example.org", "TXT", true},
		{own, "a", "*.example.org", "A", false},
		{shared, "a", "www.example.org", "CNAME", true},
		{shared, "a", "*.example.org", "A", false},
		{shared, "a", "*.x.example.org", "A", false},
		{shared, "a", "victim.example.org", "NS", false},
		{shared, "a", "victim.example.org", "DNAME", false},
		{shared, "a", "_acme-challenge.victim.example.org", "TXT", false},
		{shared, "a", "_token._acme-challenge.victim.example.org", "TXT", false},
		{shared, "a", "_3a1f.victim.example.org", "CNAME", false},
		{shared, "a", "_3a1f.example.org", "CNAME", false},
		{shared, "a", "_validation-persist.victim.example.org", "TXT", false},
		{shared, "a", "s1._domainkey.victim.example.org", "TXT", false},
		{shared, "a", "_dmarc.victim.example.org", "TXT", false},
		{shared, "a", "_443._tcp.victim.example.org", "TLSA", false},
		{shared, "a", "_http._tcp.www.example.org", "SRV", true},
		{shared, "a", "_x.www.example.org", "A", true},
		{shared, "a", "_x.www.example.org", "AAAA", true},
		{shared, "a", "a_b.example.org", "CNAME", true},
		{own, "a", "_3a1f.www.a.example.org", "CNAME", true},
		{shared, "a", "cname-victim.example.org", "CNAME", false},
		{shared, "a", "cname-victim.example.org", "TXT", false},
		{shared, "a", "cname-victim.example.org", "A", true},
		{shared, "", "n1.nodes.example.org", "A", true},
		{shared, "", "n1.example.org", "A", false},
		{shared, "", "*.nodes.example.org", "A", false},
		{[]string{"a=example.org", "a=x.example.org"}, "a", "*.x.example.org", "A", true},
		{[]string{"a=example.org", "b=x.example.org"}, "b", "*.x.example.org", "A", false},
		{[]string{"a=example.org", "b=x.example.org"}, "a", "*.example.org", "A", false},
		{[]string{"a=a.example.org,example.org", "b=b.example.org"}, "a", "*.a.example.org", "A", true},
		{[]string{"-=example.org", "*=example.org"}, "", "*.example.org", "A", false},
		{[]string{"-=example.org", "{team=red}=example.org"}, "", "*.example.org", "A", false},
		{[]string{"*=example.org"}, "any", "www.example.org", "A", true},
		{[]string{"*=example.org"}, "any", "*.example.org", "A", false},
		{[]string{"*=example.org"}, "", "www.example.org", "A", false},
		{[]string{"{team=red}=example.org"}, "red", "www.example.org", "A", true},
		{[]string{"{team=red}=example.org"}, "pink", "www.example.org", "A", true},
		{[]string{"{team=red}=example.org"}, "green", "www.example.org", "A", false},
		{[]string{"{team=red}=example.org"}, "blue", "www.example.org", "A", false},
		{[]string{"{team!=red}=example.org"}, "unknown", "www.example.org", "A", false},
		{[]string{"{team=red}=example.org"}, "red", "*.example.org", "A", false},
		{nil, "a", "*.example.org", "NS", true},
	}
	for _, test := range tests {
		reason := domainsOf(t, test.rules...).Refuses(test.namespace, test.name, test.recordType)
		if (reason == "") != test.allowed {
			t.Errorf("%q: %s %s of %q: %q", test.rules, test.name, test.recordType, test.namespace, reason)
		}
	}
}

func TestAttributed(t *testing.T) {
	for name, want := range map[string]string{
		"www.example.org":                          "",
		"a_b.example.org":                          "",
		"_acme-challenge.www.example.org":          "www.example.org",
		"_token._acme-challenge.www.example.org":   "www.example.org",
		"_sip._tcp.example.org":                    "example.org",
		"s1._domainkey.www.example.org":            "www.example.org",
		"*._domainkey.www.example.org":             "www.example.org",
		"_x.*.example.org":                         "*.example.org",
		"_x":                                       "",
		"_x._y":                                    "",
		"www.example._x":                           "",
		"_acme-challenge.a_b.example.org":          "a_b.example.org",
		"deep.below._attribute.of.www.example.org": "of.www.example.org",
	} {
		if got := attributed(name); got != want {
			t.Errorf("%s is an attribute of %q, want %q", name, got, want)
		}
	}
}

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"a=A.example.org.,b.example.org":   "a=a.example.org,b.example.org",
		"{team in (a, b),x=y}=example.org": "{team in (a, b),x=y}=example.org",
		"*=example.org":                    "*=example.org",
		"  a=example.org\t":                "a=example.org",
		"-=example.org":                    "-=example.org",
		"a":                                "an equals sign",
		"a=":                               "give a domain",
		"a=*.example.org":                  "give a domain",
		"a=b,,c":                           "give a domain",
		"=example.org":                     "names no namespace",
		"{}=example.org":                   "names no namespace",
		"A_b=example.org":                  "no namespace has such a name",
		"{team=}a}=example.org":            "label selector",
		"{team=a":                          "an equals sign",
	} {
		r, err := ParseRule(text)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if again, err2 := ParseRule(r.String()); err == nil && (err2 != nil || again.String() != r.String()) {
			t.Errorf("%q: read again it is %q, %v", text, again, err2)
		}
	}
}
