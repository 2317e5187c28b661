package source_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// published returns what Publish returns for a ConfigMap, with flags.
func published(t *testing.T, found *source.Found, annotations map[string]string, flags ...string) source.Result {
	t.Helper()
	s, err := settings(flags...)
	if err != nil {
		t.Fatal(err)
	}
	plugin := source.Plugin{Name: "test", Annotations: source.CommonAnnotations, Templates: true, TargetTemplates: true, PairTemplates: true}
	reader := source.NewReader(source.Input{Settings: s, Plugin: plugin}, source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Label: "test"})
	object := reader.Read(kube.Scope{}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Annotations: annotations}, Data: map[string]string{"x": "y"},
	})
	return reader.Publish(&object, found)
}

// shown returns the record sets of a result, each as its name, type and targets, and the reasons of its
// skips.
func shown(r source.Result) string {
	var words []string
	for _, set := range r.Records {
		words = append(words, set.Name+" "+set.Type+" "+strings.Join(set.Targets, ","))
	}
	for _, skip := range r.Skipped {
		words = append(words, strings.TrimSpace(string(skip.Reason)+" "+skip.Subject)+": "+skip.Message)
	}
	if r.Err != nil {
		words = append(words, "error")
	}
	return strings.Join(words, "; ")
}

func TestPublish(t *testing.T) {
	t.Parallel()
	target := map[string]string{source.DefaultPrefixes[0] + "target": "192.0.2.9"}
	const template, targets, pairs, combine = "--fqdn-template={{.Name}}.example.org", "--target-template=lb.example.net", "--fqdn-target-template=p.example.org:192.0.2.8", "--combine-fqdn-annotation"
	const noTarget = "NoTarget n.example.org: no field says where the name points to: set the annotation external-dns.kubernetes.io/target, or use --target-template"
	tests := []struct {
		name        string
		names       []string
		targets     []string
		annotations map[string]string
		flags       []string
		want        string
	}{
		{"names and targets", []string{"n.example.org", "n.example.org"}, []string{"192.0.2.1"}, nil, nil, "n.example.org A 192.0.2.1"},
		{"the annotation", []string{"n.example.org"}, []string{"192.0.2.1"}, target, nil, "n.example.org A 192.0.2.9"},
		{"no name", nil, []string{"192.0.2.1"}, nil, nil, "NoHostname: it has no annotation external-dns.kubernetes.io/hostname: set it if a name is wanted"},
		{"no target", []string{"n.example.org"}, nil, nil, nil, noTarget},
		{"a template", nil, []string{"192.0.2.1"}, nil, []string{template}, "a.example.org A 192.0.2.1"},
		{"a template beside names", []string{"n.example.org"}, []string{"192.0.2.1"}, nil, []string{template}, "n.example.org A 192.0.2.1"},
		{"both", []string{"n.example.org"}, []string{"192.0.2.1"}, nil, []string{template, combine}, "a.example.org A 192.0.2.1; n.example.org A 192.0.2.1"},
		{"targets of a template", nil, []string{"192.0.2.1"}, nil, []string{template, targets}, "a.example.org CNAME lb.example.net"},
		{"targets of a template without names", []string{"n.example.org"}, nil, nil, []string{targets}, noTarget},
		{"pairs", nil, nil, nil, []string{pairs, template, targets}, "p.example.org A 192.0.2.8"},
		{"pairs and more", nil, nil, nil, []string{pairs, template, targets, combine}, "a.example.org CNAME lb.example.net; p.example.org A 192.0.2.8"},
		{
			"an empty template", nil, nil, nil,
			[]string{"--fqdn-template={{if false}}x{{end}}"},
			"NoHostname: templates write no name for the object, or no target for its names: correct them",
		},
		{"a template that fails", nil, nil, nil, []string{"--fqdn-template={{.Nothing}}"}, "error"},
		{"pairs that fail", nil, nil, nil, []string{"--fqdn-target-template={{.Nothing}}"}, "error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var found source.Found
			found.AddNames("names", test.names)
			for _, target := range test.targets {
				found.AddTarget("targets", target)
			}
			if got := shown(published(t, &found, test.annotations, test.flags...)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestFoundLimits shows that names beyond a limit are dropped and reported, and that the reports are limited
// too.
func TestFoundLimits(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("n%d.example.org", i)
	}
	var found source.Found
	found.AddNames("list", many)
	for _, name := range many {
		found.AddName("one by one", name)
		found.AddTarget("targets", name)
	}
	found.AddName("long", strings.Repeat("é", 200)+"\xff")
	for range 2 { // publishing doesn't change found
		got := published(t, &found, nil)
		if len(got.Records) != source.NameLimit || len(got.Records[0].Targets) != source.AddressLimit {
			t.Errorf("%d names, want %d", len(got.Records), source.NameLimit)
		}
		var subjects []string
		for _, p := range got.Problems {
			subjects = append(subjects, p.Subject)
			if p.Object.Name != "a" || len(p.Value) > 80 || !utf8.ValidString(p.Value) {
				t.Errorf("problem %+v", p)
			}
		}
		if last := len(subjects) - 1; last != kube.ProblemLimit || subjects[last] != "" || !slices.Contains(subjects, "list") || !strings.Contains(got.Problems[last].Reason, "more problems") {
			t.Errorf("problems of %q, want %d and one that counts the others", subjects, kube.ProblemLimit)
		}
	}
}
