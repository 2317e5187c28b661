package desired

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

func requested(name, recordType string, ttl int64) *dns.RecordSet {
	targets := map[string]string{dns.TypeA: "192.0.2.1", dns.TypeCNAME: "lb.example.net", dns.TypeNS: "ns.example.net"}
	return &dns.RecordSet{
		Name: name, Type: recordType, TTL: ttl, Targets: []string{targets[recordType]}, Labels: map[string]string{dns.LabelResource: "service/victim/v"},
	}
}

// No TTL is higher than --max-ttl, and with --force-min-ttl none is lower than --min-ttl. Each
// changed TTL is a problem (tenants S2).
func TestTTLLimits(t *testing.T) {
	s, err := New(Options{MinTTL: time.Minute, MaxTTL: time.Hour, ForceMinTTL: true})
	if err != nil {
		t.Fatal(err)
	}
	for ttl, want := range map[int64]int64{0: 60, 1: 60, 60: 60, 300: 300, 3600: 3600, 604800: 3600, 2147483647: 3600} {
		_, problems := s.Put(Origin{Namespace: "a", Name: "o"}, []*dns.RecordSet{requested("a.org", dns.TypeA, ttl)})
		if got := s.Want("a.org")[0].TTL; got != want {
			t.Errorf("TTL %d becomes %d, want %d", ttl, got, want)
		}
		if limited := ttl > 0 && ttl != want; (len(problems) > 0) != limited {
			t.Errorf("TTL %d: problems %v", ttl, problems)
		}
	}
}

// A TTL that no DNS server takes counts as unset, as in an annotation: the record set is published
// (tenants S2).
func TestTTLAboveTheHighestOfDNS(t *testing.T) {
	for name, options := range map[string]Options{"without limits": {}, "with a default": {MinTTL: time.Minute}, "with a limit": {MaxTTL: time.Hour}} {
		s, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		_, problems := s.Put(Origin{Namespace: "a", Name: "o"}, []*dns.RecordSet{requested("a.org", dns.TypeA, 1<<31)})
		if got, want := s.Want("a.org")[0].TTL, int64((options.MinTTL+options.MaxTTL)/time.Second); got != want || len(problems) != 1 {
			t.Errorf("%s: TTL %d, want %d; problems %v", name, got, want, problems)
		}
	}
}

// Names outside of the domains of a namespace are ignored, and reported once per object (tenants
// S2).
func TestNamesOutsideOfTheDomains(t *testing.T) {
	teams := map[string]labels.Set{"a": {"team": "a"}}
	rule, err := tenancy.ParseRule("{team=a}=a.org")
	if err != nil {
		t.Fatal(err)
	}
	within, err := tenancy.NewDomains([]tenancy.Rule{rule}, func(namespace string) (labels.Set, bool) {
		set, known := teams[namespace]
		return set, known
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Domains: within})
	if err != nil {
		t.Fatal(err)
	}
	object := Origin{Namespace: "a", Name: "o"}
	records := []*dns.RecordSet{requested("w.a.org", dns.TypeA, 0), requested("b.org", dns.TypeA, 0), requested("*.a.org", dns.TypeA, 0), requested("x.a.org", dns.TypeNS, 0)}
	_, problems := s.Put(object, records)
	if s.Len() != 1 || s.Want("w.a.org") == nil || s.Stats().NotAllowed != 3 {
		t.Errorf("%d names are asked for, %d aren't allowed", s.Len(), s.Stats().NotAllowed)
	}
	if len(problems) != 1 || problems[0].Event != string(tenancy.NotAllowed) {
		t.Errorf("problems: %+v", problems)
	}
	_, dropped := s.Explain(object, records, Scope{Managed: []string{"A", "NS"}})
	if len(dropped) != 3 || dropped[0].Reason != DropNotAllowed || dropped[0].Setting != "--namespace-domains" {
		t.Errorf("dropped: %+v", dropped)
	}
	// The labels of the namespace change.
	delete(teams, "a")
	if dirty, _ := s.Put(object, records); strings.Join(dirty, " ") != "w.a.org" || s.Len() != 0 || s.Unresolved("w.a.org") {
		t.Errorf("changed are %q, %d names are left", dirty, s.Len())
	}
	// A record set that isn't allowed never makes its name unresolved.
	wrong := requested("b.org", dns.TypeA, 0)
	wrong.Targets = []string{"x"}
	if s.Put(object, []*dns.RecordSet{wrong}); s.Unresolved("b.org") {
		t.Error("a name of others is unresolved")
	}
	s.Put(object, nil)
	if n := s.Stats().NotAllowed; n != 0 {
		t.Errorf("%d are counted in the end", n)
	}
}

// An object can't claim its names for another namespace by a label (tenants S6).
func TestLabelsNameTheNamespaceThatAsks(t *testing.T) {
	s, err := New(Options{Labelled: true, ManagedTypes: []string{"A", "PTR"}, CreatePTR: true})
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[Origin]string{
		{Source: "crd", Kind: "DNSEndpoint.externaldns.k8s.io", Namespace: "evil", Name: "o"}: "dnsendpoint/evil/o",
		{Source: "node", Kind: "Node", Name: "n"}:                                             "node/n",
		{Source: "connector"}: "connector/connector",
		{Source: "service", Kind: "Service", Namespace: "victim", Name: "other"}: "service/victim/v",
	} {
		s.Put(origin, []*dns.RecordSet{requested("a.org", dns.TypeA, 0)})
		for _, name := range []string{"a.org", "1.2.0.192.in-addr.arpa"} {
			if got := fmt.Sprint(s.WantOf(name, origin.Namespace)[0].Labels[dns.LabelResource]); got != want {
				t.Errorf("%v: %s has the label %q, want %q", origin, name, got, want)
			}
		}
		s.Put(origin, nil)
	}
}

// WantOf returns what Want would return without the objects of other namespaces.
func TestWantOf(t *testing.T) {
	both, one := mustNew(t), mustNew(t)
	a, b := Origin{Namespace: "a", Name: "o"}, Origin{Namespace: "b", Name: "o"}
	both.Put(a, []*dns.RecordSet{requested("x.org", dns.TypeA, 60)})
	both.Put(b, []*dns.RecordSet{requested("x.org", dns.TypeCNAME, 60)})
	one.Put(b, []*dns.RecordSet{requested("x.org", dns.TypeCNAME, 60)})
	if got, want := both.WantOf("x.org", "b"), one.Want("x.org"); len(got) != 1 || got[0].Type != want[0].Type {
		t.Errorf("b asks for %v, want %v", got, want)
	}
	if got := both.WantOf("x.org"); got != nil {
		t.Errorf("nobody asks for %v", got)
	}
	if got := strings.Join(both.Namespaces("x.org"), " "); got != "a b" {
		t.Errorf("the namespaces are %q", got)
	}
	bad := requested("x.org", dns.TypeA, 60)
	bad.Invalid = true
	both.Put(a, []*dns.RecordSet{bad})
	if !both.UnresolvedIn("x.org", "a") || both.UnresolvedIn("x.org", "b") {
		t.Error("it isn't a alone that asks in a way that can't be published")
	}
}

func mustNew(t *testing.T) *Set {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPointersOutsideOfTheDomains shows that the PTR record of an address needs a domain of the namespace
// if any rule has a reverse domain, and that without such a rule all are allowed.
func TestPointersOutsideOfTheDomains(t *testing.T) {
	const pointer = "1.2.0.192.in-addr.arpa"
	for _, test := range []struct {
		rules   string
		allowed bool
	}{
		{"a=a.org", true},
		{"a=a.org,2.0.192.in-addr.arpa", true},
		{"a=a.org *=in-addr.arpa", true},
		{"a=a.org b=2.0.192.in-addr.arpa", false},
		{"a=a.org *=8.b.d.0.1.0.0.2.ip6.arpa", false},
	} {
		var rules []tenancy.Rule
		for text := range strings.FieldsSeq(test.rules) {
			rule, err := tenancy.ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, rule)
		}
		within, err := tenancy.NewDomains(rules, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Domains: within, ManagedTypes: []string{"A", "PTR"}, CreatePTR: true})
		if err != nil {
			t.Fatal(err)
		}
		object, records := Origin{Namespace: "a", Name: "o"}, []*dns.RecordSet{requested("w.a.org", dns.TypeA, 0)}
		_, problems := s.Put(object, records)
		if s.Want("w.a.org") == nil || (s.Want(pointer) != nil) != test.allowed {
			t.Errorf("%s: published are %v and %v", test.rules, s.Want("w.a.org"), s.Want(pointer))
		}
		_, dropped := s.Explain(object, records, Scope{Managed: []string{"A", "PTR"}})
		if test.allowed {
			if len(problems)+len(dropped) > 0 {
				t.Errorf("%s: problems %+v, dropped %+v", test.rules, problems, dropped)
			}
			continue
		}
		if len(problems) != 1 || problems[0].Event != string(tenancy.NotAllowed) || problems[0].Value != pointer {
			t.Errorf("%s: problems: %+v", test.rules, problems)
		}
		if len(dropped) != 1 || dropped[0].Reason != DropNotAllowed || dropped[0].Name != pointer {
			t.Errorf("%s: dropped: %+v", test.rules, dropped)
		}
	}
}
