package dns_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

var declarations = dns.Declarations{
	{Prefix: "aws/", Annotations: []dns.Annotation{{Name: "aws-*", Property: "aws/*"}}},
	{Prefix: "azure/", Annotations: []dns.Annotation{{Name: "azure-tags", Property: "azure/tags"}}},
	{Prefix: "cf/", NamedByKey: true, Annotations: []dns.Annotation{{Name: "cloudflare-proxied", Property: "cf/proxied"}, {Name: "cf-x-*", Property: "cf/x/*"}}},
}

func TestPropertyOfAnnotation(t *testing.T) {
	for annotation, want := range map[string]string{
		"aws-weight": "aws/weight", "aws-a-b": "aws/a-b", "aws-": "", "aws": "", "azure-tags": "azure/tags", "azure-tags2": "", "azure-x": "",
		"cloudflare-proxied": "cf/proxied", "cf-x-1": "cf/x/1", "other": "", "": "", "*": "", "aws/weight": "",
	} {
		if got, ok := declarations.Property(annotation); got != want && ok || ok != (want != "") {
			t.Errorf("the annotation %q becomes %q (%v), want %q", annotation, got, ok, want)
		}
	}
}

// Only declared properties have other names in ExternalDNS: the keys of their annotations.
func TestNamesOfProperties(t *testing.T) {
	const n, o = "new.example/", "old.example/"
	theirs := []dns.Property{
		{Name: n + "cloudflare-proxied", Value: "true"},
		{Name: n + "cf-x-1", Value: "1"},
		{Name: "aws/weight", Value: "2"},
		{Name: n + "aws-weight", Value: "3"},
		{Name: "alias", Value: "true"},
		{Name: "webhook/cloudflare-proxied", Value: "4"},
	}
	ours := []dns.Property{
		{Name: "cf/proxied", Value: "true"},
		{Name: "cf/x/1", Value: "1"},
		{Name: "aws/weight", Value: "2"},
		{Name: n + "aws-weight", Value: "3"},
		{Name: "alias", Value: "true"},
		{Name: "webhook/cloudflare-proxied", Value: "4"},
	}
	before := append([]dns.Property{}, theirs...)
	if diff := cmp.Diff(ours, declarations.Ours(theirs, []string{o, n})); diff != "" {
		t.Errorf("our names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, theirs); diff != "" {
		t.Errorf("the argument was changed:\n%s", diff)
	}
	if diff := cmp.Diff(theirs, declarations.Theirs(ours, n)); diff != "" {
		t.Errorf("their names (-want +got):\n%s", diff)
	}
	if got := declarations.Ours([]dns.Property{{Name: o + "cloudflare-proxied"}}, []string{o, n}); got[0].Name != "cf/proxied" {
		t.Errorf("with the second prefix: %q", got[0].Name)
	}
	if same := ours[2:]; &declarations.Ours(same, []string{n})[0] != &same[0] || declarations.Theirs(nil, n) != nil {
		t.Error("what has no other name was copied")
	}
}

// If a property is given with several prefixes, the first prefix counts, whatever the order of the
// list (clouds F5).
func TestSeveralPrefixesOfAProperty(t *testing.T) {
	const n, o = "new.example/", "old.example/"
	for _, name := range []string{"cloudflare-proxied", "cf-x-1"} {
		property, _ := declarations.Property(name)
		newest, older := dns.Property{Name: n + name, Value: "false"}, dns.Property{Name: o + name, Value: "true"}
		other := dns.Property{Name: "aws/weight", Value: "1"}
		for _, theirs := range [][]dns.Property{{newest, older, other}, {older, newest, other}, {other, older, newest}} {
			kept := &dns.RecordSet{Properties: declarations.Ours(theirs, []string{n, o})}
			if value, _ := kept.Property(property); value != "false" || len(kept.Properties) != 2 {
				t.Errorf("%v becomes %v", theirs, kept.Properties)
			}
		}
	}
}

func FuzzNamesOfProperties(f *testing.F) {
	f.Add("cf/proxied")
	f.Add("cf/x/")
	f.Fuzz(func(t *testing.T, name string) {
		const prefix = "p.example/"
		ours := []dns.Property{{Name: name, Value: "v"}}
		theirs := declarations.Theirs(ours, prefix)
		if back := declarations.Ours(theirs, []string{prefix}); theirs[0].Name != name && back[0].Name != name {
			t.Errorf("%q is named %q, and comes back as %q", name, theirs[0].Name, back[0].Name)
		}
	})
}
