package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/node"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, node.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, node.Plugin(), "lifecycle") }

// object returns a Node; annotations, spec and addresses are YAML in one line.
func object(annotations, spec, addresses string) string {
	return `apiVersion: v1
kind: Node
metadata: {name: node1, labels: {zone: a}, annotations: {` + annotations + `}}
spec: {` + spec + `}
status: {addresses: [` + addresses + `]}
`
}

func TestRecords(t *testing.T) {
	t.Parallel()
	const (
		external  = `{type: ExternalIP, address: 192.0.2.1}`
		internal  = `{type: InternalIP, address: 10.0.0.1}`
		internal6 = `{type: InternalIP, address: "2001:db8::1"}`
		prefix    = "external-dns.kubernetes.io/"
		template  = "--fqdn-template={{.Name}}.example.org"
	)
	tests := []struct {
		name                         string
		flags                        []string
		annotations, spec, addresses string
		want                         []string
	}{
		{name: "case 206: short name", addresses: external, want: []string{"node1 A 192.0.2.1"}},
		{name: "case 206: internal", addresses: internal, want: []string{"node1 A 10.0.0.1"}},
		{name: "case 206: external before internal", addresses: internal + "," + external, want: []string{"node1 A 192.0.2.1"}},
		{name: "case 206: dual stack", addresses: internal + "," + internal6, want: []string{"node1 A 10.0.0.1", "node1 AAAA 2001:db8::1"}},
		{name: "internal IPv6 is not exposed", addresses: external + "," + internal6, want: []string{"node1 A 192.0.2.1"}},
		{
			name: "internal IPv6 is exposed", flags: []string{"--expose-internal-ipv6"}, addresses: external + "," + internal6 + "," + internal,
			want: []string{"node1 A 192.0.2.1", "node1 AAAA 2001:db8::1"},
		},
		{name: "case 206: template", flags: []string{template}, addresses: external, want: []string{"node1.example.org A 192.0.2.1"}},
		{
			name: "case 206: several names", flags: []string{template, "--fqdn-template={{index .Labels \"zone\"}}.example.net"}, addresses: external,
			want: []string{"a.example.net A 192.0.2.1", "node1.example.org A 192.0.2.1"},
		},
		{name: "a template without names", flags: []string{"--fqdn-template={{if false}}x{{end}}"}, addresses: external},
		{
			name: "pairs", flags: []string{"--fqdn-target-template=p.example.org:{{range .Status.Addresses}}{{.Address}}{{end}}"}, addresses: internal6,
			want: []string{"p.example.org AAAA 2001:db8::1"},
		},
		{name: "pairs before names", flags: []string{"--fqdn-target-template=p.example.org:lb.example.com", template}, addresses: external, want: []string{"p.example.org CNAME lb.example.com"}},
		{
			name: "W2: the node's own name, pairs and names", flags: []string{"--fqdn-target-template=p.example.org:lb.example.com", template, "--combine-fqdn-annotation"},
			addresses: external, want: []string{"node1 A 192.0.2.1", "node1.example.org A 192.0.2.1", "p.example.org CNAME lb.example.com"},
		},
		{
			name: "W2: the flag without a name from the template", flags: []string{"--fqdn-template={{if false}}x{{end}}", "--combine-fqdn-annotation"}, addresses: external,
			want: []string{"node1 A 192.0.2.1"},
		},
		{name: "target", addresses: external, annotations: prefix + "target: lb.example.com.", want: []string{"node1 CNAME lb.example.com"}},
		{name: "no hostname annotation, no properties", addresses: external, annotations: prefix + "hostname: x.example.org, " + prefix + "aws-weight: \"1\"", want: []string{"node1 A 192.0.2.1"}},
		{name: "case 206: unschedulable", addresses: external, spec: "unschedulable: true"},
		{
			name: "case 206: unschedulable by flag", flags: []string{"--exclude-unschedulable=false"}, addresses: external, spec: "unschedulable: true",
			want: []string{"node1 A 192.0.2.1"},
		},
		{name: "the namespace doesn't apply", flags: []string{"--namespace=x"}, addresses: external, want: []string{"node1 A 192.0.2.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, node.Plugin(), object(test.annotations, test.spec, test.addresses), test.flags...)
			want := ""
			for i, record := range test.want {
				if i == 0 {
					want = "node1\n"
				}
				want += "  " + record + " resource=node/node1\n"
			}
			if diff := cmp.Diff(want, s.Records()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoAddress covers case 206, in which ExternalDNS fails for all nodes.
func TestNoAddress(t *testing.T) {
	t.Parallel()
	s := sourcetest.MustOpen(t, node.Plugin(), object("", "", `{type: Hostname, address: node1}`))
	got := s.Evaluate(source.Key{Name: "node1"})
	if got.Err != nil || len(got.Records) != 0 || len(got.Problems) != 1 || got.Problems[0].Object.Kind != "Node" || got.Problems[0].Subject != "status.addresses" {
		t.Errorf("case 206: the result is %+v, want a problem of the addresses and nothing else", got)
	}
}
