package source_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// every is a source that reads all templates.
var every = source.Plugin{Name: "service", Templates: true, TargetTemplates: true, PairTemplates: true}

// shop is an object for templates.
func shop() *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "shop", Labels: map[string]string{"app": "Web", "String": "s.example"},
			Annotations: map[string]string{"json": `{"host":"j.example"}`},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1", ExternalName: "ext.example.com",
			ClusterIPs: []string{"10.0.0.1", "2001:db8::1"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("web")}, {Name: "dns", Port: 53}},
		},
	}
}

func TestTemplateNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		templates []string
		want      []string
		err       string
	}{
		{name: "a field", templates: []string{"{{.Name}}.{{.Namespace}}.example"}, want: []string{"shop.a.example"}},
		{name: "case 146: several names", templates: []string{" b.example. , a.example ,, b.example"}, want: []string{"a.example", "b.example"}},
		{name: "several templates", templates: []string{"{{.Name}}.b", "{{.Name}}.a"}, want: []string{"shop.a", "shop.b"}},
		{name: "a template in another", templates: []string{`{{define "n"}}{{.Name}}{{end}}`, `{{template "n" .}}.x`}, want: []string{"shop.x"}},
		{name: "kind and version", templates: []string{"{{.Kind}}.{{.APIVersion}}"}, want: []string{"Service.v1"}},
		{name: "a range", templates: []string{"{{range .Spec.Ports}}{{.Name}}.example,{{end}}"}, want: []string{"dns.example", "http.example"}},
		{name: "nothing", templates: []string{"{{if eq .Name `x`}}a{{end}}"}},
		{name: "contains", templates: []string{`{{contains .Name "ho"}}`}, want: []string{"true"}},
		{name: "trimPrefix", templates: []string{`{{trimPrefix .Name "s"}}`}, want: []string{"hop"}},
		{name: "trimSuffix", templates: []string{`{{trimSuffix .Name "p"}}`}, want: []string{"sho"}},
		{name: "trim and toLower", templates: []string{`{{trim "  A " | toLower}}`}, want: []string{"a"}},
		{name: "replace", templates: []string{`{{.Name | replace "s" "c"}}`}, want: []string{"chop"}},
		{name: "isIPv4", templates: []string{`{{isIPv4 "1.2.3.4"}}{{isIPv4 "::ffff:1.2.3.4"}}{{isIPv4 "x"}}`}, want: []string{"truefalsefalse"}},
		{name: "isIPv6", templates: []string{`{{isIPv6 "1.2.3.4"}}{{isIPv6 "::ffff:1.2.3.4"}}{{isIPv6 "fe80::1%eth0"}}`}, want: []string{"falsetruefalse"}},
		{name: "hasKey", templates: []string{`{{hasKey .Labels "app"}}{{hasKey .Labels "x"}}{{hasKey nil "x"}}`}, want: []string{"truefalsefalse"}},
		{name: "hasKey of no map", templates: []string{`{{hasKey .Name "app"}}`}, err: "hasKey"},
		{name: "fromJson", templates: []string{`{{(fromJson .Annotations.json).host}}{{with fromJson "{"}}x{{end}}`}, want: []string{"j.example"}},
		{name: "isSource", templates: []string{`{{isSource "Service"}}{{isSource "gloo-proxy"}}{{isSource "ours"}}`}, want: []string{"truefalsefalse"}},
		{name: "isSource of an unknown one", templates: []string{`{{isSource "serviec"}}`}, err: "serviec"},
		{name: "the keys of JSON", templates: []string{"{{.Spec.externalName}}"}, want: []string{"ext.example.com"}},
		{name: "the names of Go over JSON", templates: []string{"{{.Spec.ClusterIPs}}{{.Spec.externalName}}{{.Spec.ExternalName}}"}, want: []string{"[10.0.0.1 2001:db8::1]ext.example.comext.example.com"}},
		{name: "the object of JSON", templates: []string{"{{.Object.spec.clusterIP}}.{{.Metadata.name}}.{{.Kind}}.{{.Name}}"}, want: []string{"10.0.0.1.shop.Service.shop"}},
		{name: "a method", templates: []string{"{{.GetName}}.{{.GetNamespace}}.{{.ObjectMeta.GetName}}"}, want: []string{"shop.a.shop"}},
		{name: "a field of what a method returns", templates: []string{"{{.GetLabels.app}}"}, want: []string{"Web"}},
		{name: "a method of a variable", templates: []string{"{{range $p := .Spec.Ports}}{{$p.TargetPort.String}}.{{$.GetName}},{{end}}"}, want: []string{"0.shop", "web.shop"}},
		{name: "a method of an expression", templates: []string{"{{(index .Spec.Ports 0).TargetPort.String}}"}, want: []string{"web"}},
		{name: "a method in a pipe and a condition", templates: []string{"{{if .GetName | contains `workshop`}}{{printf `%s.x` .GetName}}{{end}}"}, want: []string{"shop.x"}},
		{name: "kind and version by methods", templates: []string{"{{.GetKind}}.{{.GetAPIVersion}}"}, want: []string{"Service.v1"}},
		{name: "a label that is called like a method", templates: []string{"{{.Labels.String}}"}, want: []string{"s.example"}},
		{name: "a method that the value lacks", templates: []string{"{{.Spec.GetName}}"}, err: "a v1.ServiceSpec has no method GetName"},
		{name: "a method that none can call", templates: []string{"{{.Spec.Unmarshal nil}}"}, err: "Unmarshal"},
		{name: "a method with an argument", templates: []string{"{{.GetName 1}}"}, err: "argument"},
		{name: "case 145: no such field", templates: []string{"{{.Nope}}"}, err: "Service a/shop"},
		{name: "no such key of JSON", templates: []string{"{{.Spec.nope}}"}, err: "nope"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			templates, err := source.ParseTemplates(source.TemplateOptions{FQDN: test.templates, Sources: []string{"ours", "gloo-proxy"}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := templates.For(every).Names(shop())
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "--fqdn-template") {
					t.Errorf("the error is %v, want one of --fqdn-template that says %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// spelled has the fields of Istio Gateways and Contour HTTPProxies.
func spelled() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "x", "uid": "u", "labels": map[string]any{"app": "b"}},
		"spec": map[string]any{
			"selector":    map[string]any{"istio": "edge", "app": "web"},
			"servers":     []any{map[string]any{"hosts": []any{"a.example", "b.example"}, "tls": map[string]any{"httpsRedirect": true}}},
			"virtualhost": map[string]any{"fqdn": "f.example"},
			"routes":      []any{},
		},
		"data": map[string]any{"host": "d.example"},
	}}
}

// TestTemplateSpellings shows that fields have the spellings of Go and of JSON at each level. Only JSON's was
// known below the first level of spec, so that objects weren't published (W3).
func TestTemplateSpellings(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, template, want, err string }{
		{name: "a field of a variable", template: "{{range $server := .Spec.Servers}}{{range $server.Hosts}}{{.}},{{end}}{{end}}", want: "a.example,b.example"},
		{name: "a field of the dot", template: "{{range .spec.servers}}{{range .Hosts}}{{.}},{{end}}{{end}}", want: "a.example,b.example"},
		{name: "a word that JSON has in one", template: "{{.Spec.VirtualHost.Fqdn}},{{.Spec.virtualhost.fqdn}},{{.spec.VirtualHost.FQDN}}", want: "f.example"},
		{name: "a field of the root, inside", template: "{{range .Spec.Servers}}{{$.Spec.VirtualHost.Fqdn}}{{end}}", want: "f.example"},
		{name: "a field of an expression", template: "{{(index .Spec.Servers 0).Tls.HttpsRedirect}}", want: "true"},
		{name: "a field as an argument", template: `{{index (index .Spec.Servers 0).Hosts 1 | printf "%s.%s" .Spec.VirtualHost.Fqdn}}`, want: "f.example.b.example"},
		{name: "a field in a nested template", template: `{{define "n"}}{{.VirtualHost.Fqdn}}{{end}}{{template "n" .Spec}}`, want: "f.example"},
		{name: "methods", template: "{{.GetName}}.{{.GetKind}}.{{.GetLabels.app}}", want: "x.Thing.b"},
		{name: "metadata", template: "{{.ObjectMeta.Name}},{{.Metadata.UID}},{{.UID}},{{.metadata.Labels.app}},{{.Labels.app}}", want: "b,u,x"},
		{name: "beside spec and status", template: "{{.Data.host}},{{.data.host}}", want: "d.example"},
		{name: "a map stays as it is", template: "{{range $k, $v := .Spec.Selector}}{{$k}}.{{$v}},{{end}}", want: "app.web,istio.edge"},
		{name: "a missing field", template: "{{.Spec.VirtualHost.Nope}}", err: "no field Spec.VirtualHost.Nope"},
		{name: "a field of a text", template: "{{.Name.Nope}}", err: "no field Name.Nope"},
		{name: "a missing field as a condition", template: "{{if .Spec.Nope.Neither}}a{{else}}b{{end}},{{with .Spec.Nope}}c{{end}},{{range .Spec.Nope}}d{{end}}", want: "b"},
		{name: "no condition, but inside of one", template: "{{if .Spec}}{{.Spec.Nope}}{{end}}", err: "no field Spec.Nope"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			templates, err := source.ParseTemplates(source.TemplateOptions{FQDN: []string{test.template}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := templates.For(every).Names(spelled())
			if test.err == "" && (err != nil || strings.Join(got, ",") != test.want) {
				t.Errorf("names are %q, %v; want %q", got, err, test.want)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("names are %q, %v; want an error that says %q", got, err, test.err)
			}
		})
	}
}

// TestTemplateSpellingsOfTypes shows that an object with a Go type has only the fields of that type, so that
// a misspelt condition is an error (W3).
func TestTemplateSpellingsOfTypes(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{{range .Spec.Ports}}{{.name}}.{{.Port}},{{end}}": "dns.53,http.80",
		"{{if .Spec.Nope}}a{{end}}":                        "",
		"{{(index .Spec.Ports 1).NodePort}}":               "0", // JSON omits the field; the copied template once changed the original
	} {
		templates, err := source.ParseTemplates(source.TemplateOptions{FQDN: []string{template}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := templates.Names(shop())
		if strings.Join(got, ",") != want || (err == nil) != (want != "") {
			t.Errorf("%s: names are %q, %v; want %q", template, got, err, want)
		}
	}
}

// TestTemplateView shows that keys of spec and status have the names of Go, too (spec/dns.md §6.11).
func TestTemplateView(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x", "labels": map[string]any{"a": "b"}},
		"spec":   map[string]any{"hostnames": "h", "dnsNames": "d", "url": "u", "podIP": "p", "fqdn": "f", "Url": "kept", "userId": "i", "ümlaut": "ü"},
		"status": "none",
	}}
	const template = "{{.Spec.Hostnames}}{{.Spec.DNSNames}}{{.Spec.URL}}{{.Spec.PodIP}}{{.Spec.Fqdn}}{{.Spec.Url}}{{.Spec.UserID}}{{.Spec.Ümlaut}}{{.Labels.a}}{{len .Status}}{{.APIVersion}}"
	templates, err := source.ParseTemplates(source.TemplateOptions{FQDN: []string{template}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := templates.Names(object)
	if want := []string{"hdupfkeptiüb0example.com/v1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("names are %q, %v; want %q", got, err, want)
	}
}

// TestTemplatePairs covers pairs of a name and a target (case 173).
func TestTemplatePairs(t *testing.T) {
	t.Parallel()
	s, err := settings("--fqdn-target-template=h.example:192.0.2.1, h.example : 192.0.2.2,v6.example:2001:db8::1,n.example.:lb.example.com.", "--fqdn-target-template=none,:x,y:,:")
	if err != nil {
		t.Fatal(err)
	}
	reader := source.NewReader(source.Input{Settings: s, Plugin: source.Plugin{PairTemplates: true}}, source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("Service")})
	object := reader.Read(kube.Scope{}, shop())
	got := reader.Publish(&object, &source.Found{})
	want := []string{"h.example A 192.0.2.1 192.0.2.2", "n.example CNAME lb.example.com", "v6.example AAAA 2001:db8::1"}
	if diff := cmp.Diff(want, texts(got.Records)); diff != "" {
		t.Errorf("case 173: record sets (-want +got):\n%s", diff)
	}
}

func texts(sets []*dns.RecordSet) []string {
	var list []string
	for _, r := range sets {
		list = append(list, r.Name+" "+r.Type+" "+strings.Join(r.Targets, " "))
	}
	return list
}

// TestCombine covers the rule of spec/dns.md §6.12 (case 144).
func TestCombine(t *testing.T) {
	t.Parallel()
	found, made := source.Origin{}.Records("found.example", []string{"192.0.2.1"}), source.Origin{}.Records("made.example", []string{"192.0.2.1"})
	tests := []struct {
		name    string
		options source.TemplateOptions
		found   []*dns.RecordSet
		want    int
	}{
		{name: "no template", found: found, want: 1},
		{name: "no template, nothing found"},
		{name: "nothing found", options: source.TemplateOptions{FQDN: []string{"x"}}, want: 1},
		{name: "something found", options: source.TemplateOptions{FQDN: []string{"x"}}, found: found, want: 1},
		{name: "both", options: source.TemplateOptions{FQDN: []string{"x"}, Combine: true}, found: found, want: 2},
	}
	for _, test := range tests {
		templates, err := source.ParseTemplates(test.options)
		if err != nil {
			t.Fatal(err)
		}
		called := false
		got, err := templates.Combine(test.found, func() ([]*dns.RecordSet, error) {
			called = true
			return made, nil
		})
		if err != nil || len(got) != test.want || called != (templates != nil && (len(test.found) == 0 || test.options.Combine)) {
			t.Errorf("case 144: %s: %d record sets, %v, called %v; want %d", test.name, len(got), err, called, test.want)
		}
	}
}

func TestTemplateTargets(t *testing.T) {
	t.Parallel()
	templates, err := source.ParseTemplates(source.TemplateOptions{Target: []string{`{{range .Spec.ClusterIPs}}{{.}},{{end}}`}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := templates.For(every).Targets(shop())
	if want := []string{"10.0.0.1", "2001:db8::1"}; err != nil || !slices.Equal(got, want) || templates.HasNames() || templates.HasPairs() || !templates.HasTargets() {
		t.Errorf("targets are %q, %v; want %q", got, err, want)
	}
	if names, err := (*source.Templates)(nil).For(source.Plugin{}).Names(shop()); names != nil || err != nil {
		t.Errorf("without templates the names are %q, %v", names, err)
	}
}

func FuzzTemplates(f *testing.F) {
	for _, text := range []string{
		"{{.Name}}.example", "{{range .Spec.Ports}}{{.Name}},{{end}}", "{{index .Spec.Ports 3}}", "{{hasKey .Labels 1}}", "{{fromJson .Name}}",
		"{{.Spec.x.y}}", "{{isSource .Name}}", "a:b,c:d:e,:", ".:0", "{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}", "{{printf \"%d\" .}}",
	} {
		f.Add(text)
	}
	long := regexp.MustCompile("[0-9_]{4}|[0-9][xXbBoOeEpP]")
	f.Fuzz(func(t *testing.T, text string) {
		if long.MatchString(text) && strings.Contains(text, "{{") {
			t.Skip("a loop or a text as long as that number says would take its time")
		}
		options := source.TemplateOptions{FQDN: []string{text}, FQDNTarget: []string{text}}
		templates, err := source.ParseTemplates(options)
		if err != nil || templates == nil {
			return
		}
		templates = templates.For(every)
		object := shop()
		names, err := templates.Names(object)
		if err == nil && (!slices.IsSorted(names) || slices.Contains(names, "")) {
			t.Errorf("%q gives the names %q", text, names)
		}
		pairs, err := templates.Pairs(object)
		for _, p := range pairs {
			if err != nil || p.Name == "" || p.Target == "" {
				t.Errorf("%q gives the pairs %q, %v", text, pairs, err)
			}
		}
		if diff := cmp.Diff(shop(), object); diff != "" {
			t.Errorf("%q changes the object:\n%s", text, diff)
		}
	})
}

// TestTargetTemplates shows that --fqdn-template and --target-template give each name all targets in sources
// that read both, and that names have the object's targets in others (D16).
func TestTargetTemplates(t *testing.T) {
	t.Parallel()
	s, err := settings("--fqdn-template={{.Name}}.example,x.example", "--target-template={{range .Spec.ClusterIPs}}{{.}},{{end}}")
	if err != nil {
		t.Fatal(err)
	}
	for reads, want := range map[bool]string{
		true:  "shop.example A 10.0.0.1; shop.example AAAA 2001:db8::1; x.example A 10.0.0.1; x.example AAAA 2001:db8::1; ",
		false: "shop.example A 192.0.2.1; x.example A 192.0.2.1; ",
	} {
		reader := source.NewReader(source.Input{Settings: s, Plugin: source.Plugin{Templates: true, TargetTemplates: reads}}, source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("Service")})
		object := reader.Read(kube.Scope{}, shop())
		got := reader.Publish(&object, &source.Found{Targets: []string{"192.0.2.1"}})
		text := ""
		for _, r := range got.Records {
			text += r.Name + " " + r.Type + " " + strings.Join(r.Targets, ",") + "; "
		}
		if got.Err != nil || text != want {
			t.Errorf("reads --target-template: %v: %s (%v), want %s", reads, text, got.Err, want)
		}
	}
	s, err = settings("--fqdn-template=x.example", "--target-template={{.Nothing.AtAll}}")
	if err != nil {
		t.Fatal(err)
	}
	reader := source.NewReader(source.Input{Settings: s, Plugin: source.Plugin{Templates: true, TargetTemplates: true}}, source.Subject{})
	object := reader.Read(kube.Scope{}, shop())
	if got := reader.Publish(&object, &source.Found{}); got.Err == nil || !strings.Contains(got.Err.Error(), "--target-template") {
		t.Errorf("error %v, want one about --target-template", got.Err)
	}
}
