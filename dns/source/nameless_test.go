package source_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// Split-horizon V9: a filter isn't why an object gives no record that asks for no name: nobody has to
// change the filter, or the labels and annotations of the object.
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
		subject := source.Subject{Source: "toy", Kind: corev1.SchemeGroupVersion.WithKind("Service"), NamedByAnnotation: !test.named}
		object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", Annotations: test.annotations}}
		read := source.NewReader(s, subject).Read(kube.Scope{}, object)
		if got := read.Excluded().Skipped; len(got) != 1 || got[0].Reason != test.want {
			t.Errorf("%s: the skips are %+v, want %s", name, got, test.want)
		}
	}
}
