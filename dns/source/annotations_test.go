package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/dns/source"
)

// defaults are the settings without flags, with the properties that providers declare.
func defaults() source.Settings {
	return source.Settings{Prefixes: source.DefaultPrefixes, Declared: properties.Known()}
}

func TestReadAnnotations(t *testing.T) {
	t.Parallel()
	const n, o = "external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"
	tests := []struct {
		name string
		all  map[string]string
		want source.Annotations
	}{
		{name: "none"},
		{name: "others", all: map[string]string{"hostname": "a", "example.com/hostname": "b", "x" + n + "hostname": "c"}},
		{
			name: "lists", all: map[string]string{
				n + "hostname": " a.example. , b . example,, ", n + "internal-hostname": "i", n + "target": "lb.example., 192.0.2.1 ,.,",
			},
			want: source.Annotations{
				Hostnames: []string{"a.example.", "b.example"}, InternalHostnames: []string{"i"}, Targets: []string{"lb.example", "192.0.2.1"},
			},
		},
		{name: "empty lists", all: map[string]string{n + "hostname": "", n + "target": "", n + "internal-hostname": " "}},
		{
			name: "words", all: map[string]string{
				n + "access": "private", n + "endpoints-type": "HostIP", n + "ingress": "a/b", n + "ingress-hostname-source": "Annotation-Only", n + "set-identifier": "S",
			},
			want: source.Annotations{Access: "private", EndpointsType: "HostIP", Ingress: "a/b", HostnameSource: "annotation-only", SetIdentifier: "S"},
		},
		{name: "case 147: seconds", all: map[string]string{n + "ttl": "10"}, want: source.Annotations{TTL: 10}},
		{name: "case 147: duration", all: map[string]string{n + "ttl": "1m"}, want: source.Annotations{TTL: 60}},
		{name: "a fraction", all: map[string]string{n + "ttl": "1.9s"}, want: source.Annotations{TTL: 1}},
		{
			name: "the first prefix counts", all: map[string]string{o + "hostname": "old", n + "hostname": "new", o + "ttl": "7"},
			want: source.Annotations{Hostnames: []string{"new"}, TTL: 7},
		},
		{
			name: "case 150: properties",
			all: map[string]string{
				n + "aws-weight": "10", n + "scw-x": "a", n + "webhook-y-z": "", n + "coredns-group": "g", n + "azure-tags": "t", n + "azure-other": "no",
				n + "alias": "true", n + "record-type": "ptr", o + "cloudflare-proxied": "true", n + "cloudflare-tags": "c", n + "cloudflare-other": "no",
				n + "aws-": "no", n + "unknown": "no",
			},
			want: source.Annotations{Properties: []dns.Property{
				{Name: "alias", Value: "true"},
				{Name: "aws/weight", Value: "10"},
				{Name: "azure/tags", Value: "t"},
				{Name: "cloudflare/proxied", Value: "true"},
				{Name: "cloudflare/tags", Value: "c"},
				{Name: "coredns/group", Value: "g"},
				{Name: "record-type", Value: "ptr"},
				{Name: "scw/x", Value: "a"},
				{Name: "webhook/y-z", Value: ""},
			}},
		},
		{name: "case 181: alias=false", all: map[string]string{n + "alias": "false"}},
		{name: "alias of one type", all: map[string]string{n + "alias": "AAAA"}, want: source.Annotations{Properties: []dns.Property{{Name: "alias", Value: "AAAA"}}}},
		{name: "no alias", all: map[string]string{n + "alias": "True"}},
		{name: "an opt-out", all: map[string]string{n + "record-type": ""}, want: source.Annotations{Properties: []dns.Property{{Name: "record-type"}}}},
	}
	for _, test := range tests {
		got := defaults().ReadAnnotations(test.all)
		if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(source.Annotations{}, "Remarks")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, ttl := range []string{"foo", "-10", "0", "2147483648", "", "-1m", "10x"} {
		got := defaults().ReadAnnotations(map[string]string{o + "ttl": ttl})
		if got.TTL != 0 || len(got.Problems) != 1 || got.Problems[0].Subject != o+"ttl" || got.Problems[0].Value != ttl || got.Problems[0].Reason == "" {
			t.Errorf("case 147: ttl %q gives %d and the problems %+v, want 0 and one that names the annotation and the value", ttl, got.TTL, got.Problems)
		}
	}
}

func FuzzReadAnnotations(f *testing.F) {
	f.Add("hostname", "a.example., b", "aws-weight", "1")
	f.Add("ttl", "1h", "target", "x.,.")
	f.Add("cloudflare-tags", "", "ttl", "-1")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		all := map[string]string{source.DefaultPrefixes[1] + name1: value1, source.DefaultPrefixes[0] + name2: value2}
		a := defaults().ReadAnnotations(all)
		for _, list := range [][]string{a.Hostnames, a.InternalHostnames, a.Targets} {
			if slices.ContainsFunc(list, func(s string) bool { return s == "" || strings.ContainsAny(s, " ,") }) {
				t.Errorf("%q gives the list %q", all, list)
			}
		}
		if a.TTL < 0 || a.TTL > 1<<31-1 {
			t.Errorf("%q gives the TTL %d", all, a.TTL)
		}
		for i, p := range a.Properties {
			if p.Name == "" || i > 0 && a.Properties[i-1].Name >= p.Name {
				t.Errorf("%q gives the properties %+v, which aren't unique and sorted", all, a.Properties)
			}
		}
		if diff := cmp.Diff(a, defaults().ReadAnnotations(all)); diff != "" {
			t.Errorf("reading %q again gives something else:\n%s", all, diff)
		}
	})
}
