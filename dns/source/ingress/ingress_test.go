package ingress_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns/source/ingress"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, ingress.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, ingress.Plugin(), "lifecycle") }

// object returns an Ingress with annotations, spec and the addresses of its load balancer, each in YAML on
// one line.
func object(annotations, spec, addresses string) string {
	return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: a, labels: {app: shop}, annotations: {` + annotations + `}}
spec: {` + spec + `}
status: {loadBalancer: {ingress: [` + addresses + `]}}
`
}

const (
	prefix = "external-dns.kubernetes.io/"

	rule = `rules: [{host: shop.example.org}]`
	one  = `{ip: 192.0.2.1}`
	a1   = "shop.example.org A 192.0.2.1 "
)

func TestRecords(t *testing.T) {
	t.Parallel()
	const template = "--fqdn-template={{.Name}}.tmpl.example.org"
	tests := []struct {
		name                         string
		flags                        []string
		annotations, spec, addresses string
		// want are the record sets without their common label.
		want []string
	}{
		{name: "case 174: an address", spec: rule, addresses: one, want: []string{a1}},
		{name: "case 174: an IPv6 address", spec: rule, addresses: `{ip: "2001:db8::1"}`, want: []string{"shop.example.org AAAA 2001:db8::1 "}},
		{name: "case 174: a name", spec: rule, addresses: `{hostname: lb.example.com}`, want: []string{"shop.example.org CNAME lb.example.com "}},
		{
			name: "case 174: two of each", spec: rule,
			addresses: `{ip: 192.0.2.1}, {ip: 192.0.2.2, hostname: lb1.example.com}, {ip: "2001:db8::1"}, {ip: "2001:db8::2"}, {hostname: lb2.example.com}`,
			want: []string{
				"shop.example.org A 192.0.2.1 192.0.2.2 ", "shop.example.org AAAA 2001:db8::1 2001:db8::2 ",
				"shop.example.org CNAME lb1.example.com lb2.example.com ",
			},
		},
		{name: "case 175: no rules", addresses: one},
		{name: "case 175: an empty host", spec: `rules: [{host: ""}]`, addresses: one},
		{name: "case 175: no status", spec: rule},
		{
			name: "case 176: rules are ignored", flags: []string{"--ignore-ingress-rules-spec"}, addresses: one,
			spec: rule + `, tls: [{hosts: [tls.example.org]}]`, want: []string{"tls.example.org A 192.0.2.1 "},
		},
		{
			name: "case 177: rules and annotation", spec: rule, addresses: one, annotations: prefix + `hostname: "b.example.org., a.example.org"`,
			want: []string{"a.example.org A 192.0.2.1 ", "b.example.org A 192.0.2.1 ", a1},
		},
		{
			name: "case 177: defined hosts only", spec: rule, addresses: one, want: []string{a1},
			annotations: prefix + `hostname: a.example.org, ` + prefix + `ingress-hostname-source: Defined-Hosts-Only`,
		},
		{
			name: "case 177: annotation only", spec: rule, addresses: one, want: []string{"a.example.org A 192.0.2.1 "},
			annotations: prefix + `hostname: a.example.org, ` + prefix + `ingress-hostname-source: annotation-only`,
		},
		{
			name: "case 177: an unknown source of hostnames", spec: rule, addresses: one,
			annotations: prefix + `hostname: a.example.org, ` + prefix + `ingress-hostname-source: both`,
		},
		{
			name: "annotations are ignored", flags: []string{"--ignore-hostname-annotation", template}, spec: rule, addresses: one,
			annotations: prefix + `hostname: a.example.org`, want: []string{a1},
		},
		{
			name: "case 178: many hosts of TLS", addresses: one,
			spec: `tls: [{hosts: [a.example.org, "*.b.example.org"]}, {hosts: [c.example.org]}, {}]`,
			want: []string{"*.b.example.org A 192.0.2.1 ", "a.example.org A 192.0.2.1 ", "c.example.org A 192.0.2.1 "},
		},
		{name: "case 178: TLS is ignored", flags: []string{"--ignore-ingress-tls-spec"}, addresses: one, spec: `tls: [{hosts: [a.example.org]}]`},
		{name: "a host of rules and TLS is one", addresses: one, spec: rule + `, tls: [{hosts: [shop.example.org]}]`, want: []string{a1}},
		{
			name: "case 179: targets of the annotation", spec: rule, addresses: one,
			annotations: prefix + `target: "198.51.100.1, lb.example.com., 2001:db8::1, 198.51.100.2"`,
			want: []string{
				"shop.example.org A 198.51.100.1 198.51.100.2 ", "shop.example.org AAAA 2001:db8::1 ", "shop.example.org CNAME lb.example.com ",
			},
		},
		{name: "case 179: without a status", spec: rule, annotations: prefix + `target: 198.51.100.1`, want: []string{"shop.example.org A 198.51.100.1 "}},
		{name: "case 179: an empty annotation", spec: rule, addresses: one, annotations: prefix + `target: ""`, want: []string{a1}},
		{name: "case 180: seconds", spec: rule, addresses: one, annotations: prefix + `ttl: "10"`, want: []string{a1 + "ttl=10 "}},
		{name: "case 180: a duration", spec: rule, addresses: one, annotations: prefix + `ttl: 1m30s`, want: []string{a1 + "ttl=90 "}},
		{name: "case 181: an alias", spec: rule, addresses: one, annotations: prefix + `alias: "true"`, want: []string{a1 + "alias=true "}},
		{name: "case 181: no alias", spec: rule, addresses: one, annotations: prefix + `alias: "false"`, want: []string{a1}},
		{
			name: "properties and a set identifier", spec: rule, addresses: one,
			annotations: prefix + `aws-weight: "10", ` + prefix + `set-identifier: blue`, want: []string{a1 + "set=blue aws/weight=10 "},
		},
		{
			name: "case 182: a class", flags: []string{"--ingress-class=public"}, spec: rule + `, ingressClassName: public`,
			addresses: one, want: []string{a1},
		},
		{name: "case 182: another class", flags: []string{"--ingress-class=public"}, spec: rule + `, ingressClassName: private`, addresses: one},
		{name: "case 182: no class", flags: []string{"--ingress-class=public"}, spec: rule, addresses: one},
		{
			name: "case 182: the class of the annotation", flags: []string{"--ingress-class=public"}, spec: rule + `, ingressClassName: ""`, addresses: one,
			annotations: `kubernetes.io/ingress.class: public`, want: []string{a1},
		},
		{
			name: "case 182: the field counts, not the annotation", flags: []string{"--ingress-class=public"}, addresses: one,
			spec: rule + `, ingressClassName: private`, annotations: `kubernetes.io/ingress.class: public`,
		},
		{
			name: "case 182: one of two classes", flags: []string{"--ingress-class=private", "--ingress-class=public"},
			spec: rule + `, ingressClassName: public`, addresses: one, want: []string{a1},
		},
		{name: "case 183: a template where there is no host", flags: []string{template}, addresses: one, want: []string{"shop.tmpl.example.org A 192.0.2.1 "}},
		{name: "case 183: no template where there is a host", flags: []string{template}, spec: rule, addresses: one, want: []string{a1}},
		{
			name: "case 183: both", flags: []string{template, "--combine-fqdn-annotation"}, spec: rule, addresses: one,
			want: []string{a1, "shop.tmpl.example.org A 192.0.2.1 "},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, ingress.Plugin(), object(test.annotations, test.spec, test.addresses), test.flags...)
			want := ""
			for i, record := range test.want {
				if i == 0 {
					want = "a/shop\n"
				}
				want += "  " + record + "resource=ingress/a/shop\n"
			}
			if diff := cmp.Diff(want, s.Records()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWholeObjects shows that templates see fields that are otherwise trimmed.
func TestWholeObjects(t *testing.T) {
	t.Parallel()
	s := sourcetest.MustOpen(t, ingress.Plugin(), object("example.com/team: blue", `rules: [{http: {paths: [{path: /, pathType: Exact, backend: {service: {name: web}}}]}}]`, one),
		`--fqdn-template={{index .Annotations "example.com/team"}}.{{range .Spec.Rules}}{{range .HTTP.Paths}}{{.Backend.Service.Name}}{{end}}{{end}}.{{.Kind}}.{{.APIVersion | replace "/" "."}}`)
	if got, want := s.Records(), "blue.web.ingress.networking.k8s.io.v1 A 192.0.2.1"; !strings.Contains(got, want) {
		t.Errorf("records are\n%s, want %s among them", got, want)
	}
}
