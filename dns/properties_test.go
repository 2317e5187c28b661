package dns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

func TestProperties(t *testing.T) {
	given := []dns.Property{{Name: "a", Value: "1"}, {Name: "b", Value: "true"}}
	r := &dns.RecordSet{Properties: given}
	r.SetProperty("a", "2")
	r.SetProperty("c", "3")
	r.DeleteProperty("b")
	r.DeleteProperty("z")
	want := []dns.Property{{Name: "a", Value: "2"}, {Name: "c", Value: "3"}}
	if diff := cmp.Diff(want, r.Properties); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if given[0].Value != "1" || given[1].Name != "b" {
		t.Errorf("the slice that others may have was changed: %v", given)
	}
	for name, want := range map[string][2]bool{"a": {false, true}, "b": {true, true}, "z": {false, false}} {
		value, ok := (&dns.RecordSet{Properties: given}).BoolProperty(name)
		if got := [2]bool{value, ok}; got != want {
			t.Errorf("BoolProperty(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestAlias(t *testing.T) {
	tests := map[string]struct {
		alias   dns.Alias
		a, aaaa bool
	}{
		"":      {alias: dns.AliasNone},
		"true":  {alias: dns.AliasTrue, a: true, aaaa: true},
		"false": {alias: dns.AliasFalse},
		"A":     {alias: dns.AliasA, a: true},
		"AAAA":  {alias: dns.AliasAAAA, aaaa: true},
		"yes":   {alias: dns.AliasNone},
	}
	for value, test := range tests {
		t.Run(value, func(t *testing.T) {
			got := (&dns.RecordSet{Properties: []dns.Property{{Name: "alias", Value: value}}}).Alias()
			if got != test.alias || got.For("A") != test.a || got.For("AAAA") != test.aaaa || got.For("CNAME") {
				t.Errorf("got %q, for A %v, for AAAA %v", got, got.For("A"), got.For("AAAA"))
			}
		})
	}
	if got := (&dns.RecordSet{}).Alias(); got != dns.AliasNone {
		t.Errorf("got %q without the property", got)
	}
}

func TestSameProperties(t *testing.T) {
	a, b, other := dns.Property{Name: "a", Value: "1"}, dns.Property{Name: "b"}, dns.Property{Name: "a", Value: "2"}
	tests := map[string]struct {
		x, y []dns.Property
		want bool
	}{
		"none":   {want: true},
		"order":  {x: []dns.Property{a, b}, y: []dns.Property{b, a}, want: true},
		"value":  {x: []dns.Property{a, b}, y: []dns.Property{b, other}},
		"number": {x: []dns.Property{a, b}, y: []dns.Property{a}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := dns.SameProperties(test.x, test.y); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestRetainProperties(t *testing.T) {
	all := "webhook/w scw/y azure/t external-dns.kubernetes.io/cloudflare-proxied coredns/group aws/x alias aws-sd/z"
	tests := map[string]string{
		"aws/": "alias aws/x", // Case 127.
		"":     "alias aws-sd/z aws/x azure/t coredns/group external-dns.kubernetes.io/cloudflare-proxied scw/y webhook/w",
		// D20: of two providers, the properties of both are kept.
		"azure/ scw/": "alias azure/t scw/y",
		"coredns/":    "alias coredns/group",
		"none/":       "alias",
	}
	for prefixes, want := range tests {
		t.Run(prefixes, func(t *testing.T) {
			list := strings.Split(prefixes, " ")
			given := properties(all)
			got := dns.RetainProperties(given, list)
			if diff := cmp.Diff(properties(want), got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if !slices.Equal(given, properties(all)) {
				t.Error("the argument was changed")
			}
		})
	}
	if got := dns.RetainProperties(properties("aws/x"), nil); got != nil {
		t.Errorf("got %v where nothing is left", got)
	}
}

func properties(names string) []dns.Property {
	var all []dns.Property
	for name := range strings.FieldsSeq(names) {
		all = append(all, dns.Property{Name: name, Value: "v"})
	}
	return all
}
