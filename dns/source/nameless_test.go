package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// TestFilteredWithoutName shows that an excluded object that asks for no name isn't reported as filtered,
// because changing the filter would not help (split-horizon V9).
func TestFilteredWithoutName(t *testing.T) {
	const hostname = "external-dns.kubernetes.io/hostname"
	for name, test := range map[string]struct {
		flags       []string
		annotations map[string]string
		named       bool
		want        source.SkipReason
	}{
		"asks for no name":            {flags: []string{"--annotation-filter=net=public"}, want: source.SkipNoHostname},
		"with labels":                 {flags: []string{"--label-filter=net=public"}, want: source.SkipNoHostname},
		"asks for a name":             {flags: []string{"--annotation-filter=net=public"}, annotations: map[string]string{hostname: "web.example.org"}, want: source.SkipFiltered},
		"a template gives the name":   {flags: []string{"--annotation-filter=net=public", "--fqdn-template=x"}, want: source.SkipFiltered},
		"another namespace":           {flags: []string{"--namespace=other"}, want: source.SkipFiltered},
		"the object has names itself": {flags: []string{"--annotation-filter=net=public"}, named: true, want: source.SkipFiltered},
	} {
		s, err := settings(test.flags...)
		if err != nil {
			t.Fatal(err)
		}
		subject := source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("Service"), NamedByAnnotation: !test.named}
		object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", Annotations: test.annotations}}
		read := source.NewReader(source.Input{Settings: s, Plugin: source.Plugin{Annotations: source.CommonAnnotations, Templates: true}}, subject).Read(kube.Scope{}, object)
		if got := read.Excluded().Skipped; len(got) != 1 || got[0].Reason != test.want {
			t.Errorf("%s: the skips are %+v, want %s", name, got, test.want)
		}
	}
}

// TestExcludedObjectsKeepNames shows that an excluded object is found by the names in its fields, and keeps
// only a few of them.
func TestExcludedObjectsKeepNames(t *testing.T) {
	s, err := settings("--annotation-filter=net=public")
	if err != nil {
		t.Fatal(err)
	}
	many := make([]any, 100_000)
	for i := range many {
		many[i] = fmt.Sprintf("n%d.example.org", i)
	}
	for name, test := range map[string]struct {
		spec map[string]any
		want []string
	}{
		"a text":             {spec: map[string]any{"host": "a.example.org"}, want: []string{"a.example.org"}},
		"a list":             {spec: map[string]any{"hostnames": []any{"a.example.org", "b.example.org"}}, want: []string{"a.example.org", "b.example.org"}},
		"lists of lists":     {spec: map[string]any{"servers": []any{map[string]any{"hosts": []any{"ns/a.example.org"}}, map[string]any{"hosts": []any{"b.example.org"}}}}, want: []string{"a.example.org", "b.example.org"}},
		"too many":           {spec: map[string]any{"hostnames": many}, want: []string{"n0.example.org", "n1.example.org", "n2.example.org", "n3.example.org", "n4.example.org"}},
		"too long":           {spec: map[string]any{"host": strings.Repeat("a", 254)}},
		"of another type":    {spec: map[string]any{"host": map[string]any{"x": "a"}, "hostnames": int64(1), "servers": "a.example.org"}},
		"names in no fields": {spec: map[string]any{"other": "a.example.org"}},
	} {
		t.Run(name, func(t *testing.T) {
			subject := source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("Toy"), NameFields: []string{"spec.host", "spec.hostnames", "spec.servers.hosts"}}
			object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "web"}, "spec": test.spec}}
			var fields struct{}
			read := source.NewReader(source.Input{Settings: s}, subject).ReadFields(kube.NewScope(""), object, &fields)
			if diff := cmp.Diff(test.want, read.Excluded().Wanted); diff != "" {
				t.Errorf("wanted names (-want +got):\n%s", diff)
			}
		})
	}
}
