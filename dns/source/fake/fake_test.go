package fake_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/fake"
)

func open(t *testing.T, templates ...string) source.Source {
	t.Helper()
	parsed, err := source.ParseTemplates(source.TemplateOptions{FQDN: templates})
	if err != nil {
		t.Fatal(err)
	}
	s, err := fake.Plugin().Open(fake.Config{}, source.Input{Settings: source.Settings{Templates: parsed}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func poll(t *testing.T, s source.Source) []*dns.RecordSet {
	t.Helper()
	records, err := s.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestPoll(t *testing.T) {
	types := []string{"A", "AAAA", "CNAME", "DNAME", "TXT", "SRV", "NS", "PTR", "MX", "NAPTR"}
	for _, test := range []struct {
		name      string
		templates []string
		bases     []string
	}{
		{"case 200: the default", nil, []string{"example.com"}},
		{"case 200: a template", []string{"{{.Name}}.{{.Namespace}}.example.org", "b.example.net."}, []string{"b.example.net", "fake.default.example.org"}},
		{"a template that gives nothing", []string{`{{if eq .Name "x"}}a{{end}}`}, []string{"example.com"}},
	} {
		var got, want []string
		for _, r := range poll(t, open(t, test.templates...)) {
			base := test.bases[len(got)/len(types)]
			got = append(got, r.Type)
			if err := r.Check(); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if r.SetIdentifier != "fake" || r.Labels[dns.LabelResource] != "fake/default/"+r.Name {
				t.Errorf("%s: set identifier %q and label %q", test.name, r.SetIdentifier, r.Labels[dns.LabelResource])
			}
			if !strings.HasSuffix(r.Name, base) && r.Type != dns.TypePTR {
				t.Errorf("%s: %s %s is not below %s", test.name, r.Type, r.Name, base)
			}
			if targets := len(test.bases); r.Type == dns.TypeA && len(r.Targets) != targets {
				t.Errorf("%s: %d addresses, want %d", test.name, len(r.Targets), targets)
			}
		}
		for range test.bases {
			want = append(want, types...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: types are %v, want %v", test.name, got, want)
		}
	}
}

func TestPollIsDeterministic(t *testing.T) {
	a, b := open(t), open(t)
	first, second := poll(t, a), poll(t, a)
	if diff := cmp.Diff(first, poll(t, b)); diff != "" {
		t.Errorf("case 200: another run makes up something else:\n%s", diff)
	}
	if cmp.Equal(first, second) {
		t.Error("the second time makes up the same as the first")
	}
	if diff := cmp.Diff(second, poll(t, b)); diff != "" {
		t.Errorf("the second time of another run makes up something else:\n%s", diff)
	}
}

func TestOpenReportsTheTemplate(t *testing.T) {
	parsed, err := source.ParseTemplates(source.TemplateOptions{FQDN: []string{"{{.Nothing.AtAll}}"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fake.Plugin().Open(fake.Config{}, source.Input{Settings: source.Settings{Templates: parsed}})
	if err == nil || !strings.Contains(err.Error(), "--fqdn-template") {
		t.Errorf("got %v, want an error of the template", err)
	}
}
