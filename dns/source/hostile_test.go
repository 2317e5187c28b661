package source_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
)

// TestManyAnnotations shows that annotations that fill the 256 KiB which Kubernetes allows give a limited
// number of properties and problems, and that each of them is compared with known names only while there
// is room for a remark.
func TestManyAnnotations(t *testing.T) {
	plugin := source.Plugin{Name: "service", Annotations: source.CommonAnnotations, Properties: true}
	s := annotationReader(t, plugin)
	many := func(format string) map[string]string {
		all := map[string]string{}
		for i := range 5000 {
			all[fmt.Sprintf(format, i)] = ""
		}
		return all
	}
	const prefix = "external-dns.kubernetes.io/"
	for name, all := range map[string]map[string]string{
		"unknown names": many(prefix + "hostnme-%05d"), "unknown prefixes": many("external-dns/hostnme-%05d"),
	} {
		read := s.ReadAnnotations(all)
		if n := len(read.Remarks); n != 9 {
			t.Errorf("%s: %d remarks, want 8 and one that there are more", name, n)
		}
		// A comparison allocates the list of known names several times.
		if n := testing.AllocsPerRun(1, func() { s.ReadAnnotations(all) }); n > 15000 {
			t.Errorf("%s: %v allocations for 5000 annotations, want no comparison after the limit", name, n)
		}
	}
	read := s.ReadAnnotations(many(prefix + "aws-x%05d"))
	if len(read.Properties) != source.PropertyLimit || read.Properties[0].Name != "aws/x00000" {
		t.Errorf("%d properties, want the first %d", len(read.Properties), source.PropertyLimit)
	}
	if len(read.Problems) != 1 || !strings.Contains(read.Problems[0].Reason, "5000 items") {
		t.Errorf("problems %+v, want one about the number of properties", read.Problems)
	}
}

// TestLongTemplateOutput shows that the output of a template is limited: a number in an object can be the
// number of repetitions, and a text can be inserted many times.
func TestLongTemplateOutput(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"namespace": "a", "name": "x"},
		"spec": map[string]any{"replicas": int64(3_000_000), "text": strings.Repeat("a", 10_000)},
	}}
	for _, template := range []string{
		"{{range $i := .Spec.replicas}}{{$.Name}}-{{$i}}.example.org,{{end}}",
		"{{.Spec.text | replace `a` .Spec.text}}.example.org",
	} {
		templates, err := source.ParseTemplates(source.TemplateOptions{FQDN: []string{template}})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		names, err := templates.For(source.Plugin{Templates: true}).Names(object)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "Thing a/x") || !strings.Contains(err.Error(), "more than 1 MiB") {
			t.Errorf("%s: got %d names and the error %v, want one about the length", template, len(names), err)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 32 {
			t.Errorf("%s: %d MB were allocated", template, mb)
		}
	}
}

// TestManyTemplateSteps shows that the work of a template is limited even if it writes nothing: a list in
// an object can be long, and a template can nest it.
func TestManyTemplateSteps(t *testing.T) {
	list := make([]any, 2000)
	for i := range list {
		list[i] = int64(i)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"namespace": "a", "name": "x"},
		"spec": map[string]any{"replicas": int64(1 << 60), "list": list},
	}}
	for template, limited := range map[string]bool{
		"{{range .Spec.replicas}}{{end}}a.example.org":                              true,
		"{{range .Object.spec.replicas}}{{end}}a.example.org":                       true,
		"{{range .Spec.list}}{{range $.Spec.list}}{{end}}{{end}}a.example.org":      true,
		`{{define "x"}}{{range .}}{{end}}{{end}}{{template "x" .Spec.replicas}}`:    true,
		`{{define "x"}}{{if .}}{{template "x" .}}{{end}}{{end}}{{template "x" .}}a`: true,
		"{{range .Spec.list}}{{if .}}{{end}}{{end}}a.example.org":                   false,
	} {
		templates, err := source.ParseTemplates(source.TemplateOptions{FQDN: []string{template}})
		if err != nil {
			t.Fatal(err)
		}
		names, err := templates.For(source.Plugin{Templates: true}).Names(object)
		switch refused := err != nil && strings.Contains(err.Error(), "Thing a/x: the template takes more than 65536 steps"); {
		case limited && !refused:
			t.Errorf("%s: got %v and the error %v, want one about the steps", template, names, err)
		case !limited && (err != nil || len(names) != 1):
			t.Errorf("%s: got %v and the error %v, want a name", template, names, err)
		}
	}
}
