package pod_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns/source/pod"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, pod.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, pod.Plugin(), "lifecycle") }

// object returns a Pod of two addresses on a node; annotations, spec and status are YAML
// in one line.
func object(annotations, spec, status string) string {
	return `apiVersion: v1
kind: Node
metadata: {name: node1}
status: {addresses: [{type: ExternalIP, address: 192.0.2.1}, {type: InternalIP, address: 10.0.0.1}, {type: InternalIP, address: "2001:db8::1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: a, labels: {app: web}, annotations: {` + annotations + `}}
spec: {containers: [{name: c, image: example.com/web}], ` + spec + `}
status: {` + status + `podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}, {ip: "2001:db8:1::1"}]}
`
}

func TestRecords(t *testing.T) {
	t.Parallel()
	const (
		prefix   = "external-dns.kubernetes.io/"
		hostname = prefix + `hostname: "a.example.org, b.example.org."`
		internal = prefix + "internal-hostname: i.example.org"
		target   = ", " + prefix + "target: lb.example.com"
		kops     = `dns.alpha.kubernetes.io/external: e.example.org, dns.alpha.kubernetes.io/internal: "k.example.org,l.example.org"`
		template = "--fqdn-template={{.Name}}.{{.Namespace}}.example.org"
	)
	nodes := func(name string) []string { return []string{name + " A 192.0.2.1", name + " AAAA 2001:db8::1"} }
	tests := []struct {
		name, annotations, spec, status string
		flags                           []string
		want                            []string
	}{
		{name: "nothing is asked for"},
		{name: "names at the node", annotations: hostname, want: append(nodes("a.example.org"), nodes("b.example.org")...)},
		{name: "names at the Pod", annotations: internal, want: []string{"i.example.org A 10.1.0.1"}},
		{name: "names at targets", annotations: internal + target, want: []string{"i.example.org CNAME lb.example.com"}},
		{
			name: "both kinds of name at targets", annotations: hostname + ", " + internal + target,
			want: []string{"a.example.org CNAME lb.example.com", "b.example.org CNAME lb.example.com", "i.example.org CNAME lb.example.com"},
		},
		{name: "no such node", annotations: hostname + ", " + internal, spec: "nodeName: node2", want: []string{"i.example.org A 10.1.0.1"}},
		{name: "a domain", flags: []string{"--pod-source-domain=pods.example.org"}, want: []string{"web.pods.example.org A 10.1.0.1"}},
		{
			name: "a domain and targets", flags: []string{"--pod-source-domain=.pods.example.org."}, annotations: prefix + "target: 192.0.2.9",
			want: []string{"web.pods.example.org A 192.0.2.9"},
		},
		{name: "no host network", flags: []string{"--ignore-non-host-network-pods"}, annotations: internal},
		{
			name: "the host network", flags: []string{"--ignore-non-host-network-pods"}, annotations: internal, spec: "hostNetwork: true",
			want: []string{"i.example.org A 10.1.0.1"},
		},
		{name: "kOps without its mode", annotations: kops},
		{
			name: "kOps", flags: []string{"--compatibility=kops-dns-controller"}, annotations: kops,
			want: append(nodes("e.example.org"), "k.example.org A 10.1.0.1", "l.example.org A 10.1.0.1"),
		},
		{name: "a template", flags: []string{template}, want: []string{"web.a.example.org A 10.1.0.1", "web.a.example.org AAAA 2001:db8:1::1"}},
		{name: "a template beside names", flags: []string{template}, annotations: internal, want: []string{"i.example.org A 10.1.0.1"}},
		{
			name: "a template and names", flags: []string{template, "--combine-fqdn-annotation"}, annotations: internal,
			want: []string{"i.example.org A 10.1.0.1", "web.a.example.org A 10.1.0.1", "web.a.example.org AAAA 2001:db8:1::1"},
		},
		{
			name: "pairs come before names", flags: []string{template, "--fqdn-target-template={{.Name}}.example.net:{{(index .Spec.Containers 0).Image}}"},
			want: []string{"web.example.net CNAME example.com/web"},
		},
		{name: "the TTL, but no property and no set identifier", annotations: internal + ", " + prefix + "ttl: 1m, " + prefix + "aws-weight: \"1\", " + prefix + "set-identifier: x", want: []string{"i.example.org A 10.1.0.1 ttl=60"}},
		{name: "a finished Pod, whose address is another one's", annotations: internal, status: "phase: Failed, "},
		{name: "another controller", flags: []string{template}, annotations: prefix + "controller: other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.spec == "" {
				test.spec = "nodeName: node1"
			}
			s := sourcetest.MustOpen(t, pod.Plugin(), object(test.annotations, test.spec, test.status), test.flags...)
			want := ""
			for i, record := range test.want {
				if i == 0 {
					want = "a/web\n"
				}
				want += "  " + record + "\n"
			}
			if diff := cmp.Diff(want, s.Records()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
