package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// reading returns the settings of a source that reads annotations, with flags.
func annotationReader(t *testing.T, plugin source.Plugin, flags ...string) source.Settings {
	t.Helper()
	s, err := settings(flags...)
	if err != nil {
		t.Fatal(err)
	}
	s.Declared = dns.Declarations{{Prefix: "aws/", Annotations: []dns.Annotation{{Name: "aws-*", Property: "aws/*"}}}, {
		Prefix: "cloudflare/", Annotations: []dns.Annotation{{Name: "cloudflare-proxied", Property: "cloudflare/proxied"}},
	}}
	return s.For(plugin)
}

// TestRemarks shows that a probable mistake in a key or a value gets a remark and changes nothing else.
func TestRemarks(t *testing.T) {
	t.Parallel()
	const prefix = "external-dns.kubernetes.io/"
	rich := source.Plugin{Name: "service", Annotations: append([]string{source.AnnotationAccess}, source.CommonAnnotations...), Properties: true}
	poor := source.Plugin{Name: "pod", Annotations: source.CommonAnnotations}
	tests := []struct {
		name, key, value string
		plugin           source.Plugin
		flags            []string
		want             string
	}{
		{name: "known", key: prefix + "hostname", value: "a.example.org, b.example.org", plugin: rich},
		{name: "property", key: prefix + "aws-weight", value: "1", plugin: rich},
		{name: "for providers", key: prefix + "set-identifier", value: "1", plugin: rich},
		{name: "somebody else's", key: "example.org/hostnme", plugin: rich},
		{name: "of ambassador", key: "external-dns.ambassador-service", plugin: rich},
		{name: "typo", key: prefix + "hostnme", plugin: rich, want: "UnknownAnnotation " + prefix + "hostnme: nothing reads this annotation: did you mean hostname?"},
		{name: "typo of a property", key: prefix + "cloudflare-proxy", plugin: rich, want: "UnknownAnnotation " + prefix + "cloudflare-proxy: nothing reads this annotation: did you mean cloudflare-proxied?"},
		{name: "nothing like it", key: prefix + "zzzzzz", plugin: rich, want: "UnknownAnnotation " + prefix + "zzzzzz: nothing reads this annotation: remove it, or see the reference of annotations"},
		{
			name: "prefix", key: "external-dns.aplha.kubernetes.io/hostname", plugin: rich,
			want: "UnknownAnnotation external-dns.aplha.kubernetes.io/hostname: nothing reads annotations that begin like this: did you mean external-dns.alpha.kubernetes.io/hostname?",
		},
		{
			name: "prefix and name", key: "externaldns.kubernetes.io/hostnme", plugin: rich,
			want: "UnknownAnnotation externaldns.kubernetes.io/hostnme: nothing reads annotations that begin like this: did you mean external-dns.kubernetes.io/hostname?",
		},
		{
			name: "another instance's", key: prefix + "hostname", plugin: rich, flags: []string{"--annotation-prefix=inside.example/"},
			want: "UnknownAnnotation " + prefix + "hostname: its prefix is not among those of --annotation-prefix: begin the key with inside.example/",
		},
		{
			name: "not for this source", key: prefix + "access", value: "public", plugin: poor,
			want: "UnreadAnnotation " + prefix + "access: the source pod does not read this annotation: remove it, or see which objects it is for",
		},
		{
			name: "property of a source without", key: prefix + "aws-weight", value: "1", plugin: poor,
			want: "UnreadAnnotation " + prefix + "aws-weight: it is for providers, and the source pod reads no such annotation: remove it",
		},
		{
			name: "spaces", key: prefix + "hostname", value: "www example.org", plugin: rich,
			want: `SpacesInName ` + prefix + `hostname: the spaces in "www example.org" are left out, which makes it "wwwexample.org": put commas between names`,
		},
		{name: "annotations without a meaning", key: prefix + "hostnme", plugin: source.Plugin{Name: "crd"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			read := annotationReader(t, test.plugin, test.flags...).ReadAnnotations(map[string]string{test.key: test.value})
			var got []string
			for _, r := range read.Remarks {
				got = append(got, fmt.Sprintf("%s %s: %s", r.Reason, r.Subject, r.Message))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("remarks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRemarksBounded shows that remarks are few, short and free of line breaks, because a tenant controls the
// annotations.
func TestRemarksBounded(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for i := range 1000 {
		all[fmt.Sprintf("external-dns.kubernetes.io/h%d\n%s", i, strings.Repeat("x", 10000))] = ""
		all[fmt.Sprintf("external-dns%d\n%s/", i, strings.Repeat("x", 10000))] = ""
	}
	all["external-dns.kubernetes.io/hostname"] = strings.Repeat("a b", 10000)
	remarks := annotationReader(t, source.Plugin{Name: "service", Annotations: source.CommonAnnotations}).ReadAnnotations(all).Remarks
	size := 0
	for _, r := range remarks {
		size += len(r.Subject) + len(r.Message)
		if strings.Contains(r.Subject+r.Message, "\n") {
			t.Errorf("the remark %q has a line break", r)
		}
	}
	if len(remarks) != 9 || size > 9*600 {
		t.Errorf("%d remarks with %d bytes", len(remarks), size)
	}
}

// TestAnnotationKinds shows that each annotation of a source is in the table, with all fields.
func TestAnnotationKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range source.AnnotationKinds {
		if kind.Name == "" || kind.Values == "" || kind.Purpose == "" || kind.Example == "" || strings.HasSuffix(kind.Purpose, ".") {
			t.Errorf("the annotation %+v lacks something, or its purpose ends with a full stop", kind)
		}
	}
}
