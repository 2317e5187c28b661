package service

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// twoNodes have external and internal addresses; the second also has one of IPv6.
const twoNodes = `
---
apiVersion: v1
kind: Node
metadata: {name: node1}
status: {addresses: [{type: ExternalIP, address: 54.10.11.1}, {type: InternalIP, address: 10.0.1.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: node2, labels: {node-role.kubernetes.io/node: ""}}
status: {addresses: [{type: ExternalIP, address: 54.10.11.2}, {type: InternalIP, address: 10.0.1.2}, {type: InternalIP, address: "2001:db8::2"}]}
`

const internalNodes = `
---
apiVersion: v1
kind: Node
metadata: {name: node1}
status: {addresses: [{type: InternalIP, address: 10.0.1.1}, {type: Hostname, address: node1}]}
---
apiVersion: v1
kind: Node
metadata: {name: node2}
status: {addresses: [{type: InternalIP, address: 10.0.1.2}]}
`

// nodePortOf returns the Service foo with one port.
func nodePortOf(annotations, more string) string {
	return specified("P/hostname: foo.example.org."+annotations, `type: NodePort, clusterIP: 10.0.0.10, selector: {app: foo},
  ports: [{port: 80, nodePort: 30192, protocol: TCP}]`+more)
}

// srv is the SRV record set of nodePortOf.
const srv = `  _foo._tcp.foo.example.org SRV "0 50 30192 foo.example.org."` + foo

func TestNodePort(t *testing.T) {
	public := fooKey + srv + "  foo.example.org A 54.10.11.1 54.10.11.2" + foo
	internal := fooKey + srv + "  foo.example.org A 10.0.1.1 10.0.1.2" + foo
	runCases(t, []fixtureCase{
		{name: "case 153: external addresses and SRV", objects: nodePortOf("", "") + twoNodes, want: public},
		{
			name: "case 153: the TTL is that of SRV too", objects: nodePortOf(`, P/ttl: "10"`, "") + internalNodes,
			want: fooKey + `  _foo._tcp.foo.example.org SRV "0 50 30192 foo.example.org." ttl=10` + foo + "  foo.example.org A 10.0.1.1 10.0.1.2 ttl=10" + foo,
		},
		{
			name: "several ports", objects: specified("P/hostname: foo.example.org", `type: NodePort,
  ports: [{port: 80, nodePort: 30192}, {port: 53, nodePort: 30053, protocol: UDP}, {port: 443, nodePort: 30443, protocol: TCP}, {port: 90}]`) + internalNodes,
			want: fooKey + `  _foo._tcp.foo.example.org SRV "0 50 30192 foo.example.org." "0 50 30443 foo.example.org."` + foo +
				`  _foo._udp.foo.example.org SRV "0 50 30053 foo.example.org."` + foo + "  foo.example.org A 10.0.1.1 10.0.1.2" + foo,
		},
		{name: "case 154: internal addresses only", objects: nodePortOf("", "") + internalNodes, want: internal},
		{
			name: "one external address is enough for nodes without one to be left out", objects: nodePortOf("", "") + internalNodes + `
---
apiVersion: v1
kind: Node
metadata: {name: node3}
status: {addresses: [{type: ExternalIP, address: 54.10.11.3}]}`,
			want: fooKey + srv + "  foo.example.org A 54.10.11.3" + foo,
		},
		{
			name: "case 155: access private", objects: nodePortOf(", P/access: private", "") + twoNodes,
			want: internal + "  foo.example.org AAAA 2001:db8::2" + foo,
		},
		{name: "case 155: access public", objects: nodePortOf(", P/access: public", "") + twoNodes, want: public},
		{name: "case 155: access public without external addresses", objects: nodePortOf(", P/access: public", "") + internalNodes, want: fooKey + srv},
		{
			name: "case 155: access public with the flag", objects: nodePortOf(", P/access: public", "") + twoNodes, flags: []string{"--expose-internal-ipv6"},
			want: public + "  foo.example.org AAAA 2001:db8::2" + foo,
		},
		{
			name: "the flag without access", objects: nodePortOf("", "") + twoNodes, flags: []string{"--expose-internal-ipv6"},
			want: public + "  foo.example.org AAAA 2001:db8::2" + foo,
		},
		{
			name: "the target annotation replaces everything", objects: nodePortOf(", P/target: 9.9.9.9", "") + twoNodes,
			want: fooKey + "  foo.example.org A 9.9.9.9" + foo,
		},
		{
			name: "case 157: an unschedulable node", objects: nodePortOf("", "") + twoNodes + cordoned,
			want: public,
		},
		{
			name: "case 157: an unschedulable node that isn't excluded", objects: nodePortOf("", "") + twoNodes + cordoned, flags: []string{"--exclude-unschedulable=false"},
			want: fooKey + srv + "  foo.example.org A 54.10.11.1 54.10.11.2 54.10.11.9" + foo,
		},
		{
			name: "an internal hostname is no different", flags: []string{"--service-type-filter=NodePort"},
			objects: specified("P/internal-hostname: in.example.org", `type: NodePort, clusterIP: 10.0.0.10`) + internalNodes,
			want:    fooKey + "  in.example.org A 10.0.1.1 10.0.1.2" + foo,
		},
	})
}

const cordoned = `
---
apiVersion: v1
kind: Node
metadata: {name: node9}
spec: {unschedulable: true}
status: {addresses: [{type: ExternalIP, address: 54.10.11.9}]}
`

// podOf returns a pod in the namespace testing. state has additional fields of the status.
func podOf(name, node, state string) string {
	return `
---
apiVersion: v1
kind: Pod
metadata: {namespace: testing, name: ` + name + `, labels: {app: foo}}
spec: {nodeName: ` + node + `}
status: {` + state + `}
`
}

const (
	isReady    = "phase: Running, conditions: [{type: Ready, status: 'True'}]"
	isNotReady = "phase: Running, conditions: [{type: Ready, status: 'False'}]"
)

// terminating returns a ready pod that is being deleted.
func terminating(name, node string) string {
	return `
---
apiVersion: v1
kind: Pod
metadata: {namespace: testing, name: ` + name + `, labels: {app: foo}, deletionTimestamp: "2026-01-02T03:04:05Z", deletionGracePeriodSeconds: 30}
spec: {nodeName: ` + node + `}
status: {` + isReady + `}
`
}

func TestLocalTraffic(t *testing.T) {
	local := nodePortOf("", ", externalTrafficPolicy: Local") + twoNodes
	on := func(address string) string { return fooKey + srv + "  foo.example.org A " + address + foo }
	runCases(t, []fixtureCase{
		{name: "case 156: the node that has a pod", objects: local + podOf("a", "node2", isReady), want: on("54.10.11.2")},
		{name: "case 156: two pods on a node", objects: local + podOf("a", "node1", isReady) + podOf("b", "node1", isReady), want: on("54.10.11.1")},
		{name: "case 156: a ready pod beats one that isn't", objects: local + podOf("a", "node1", isNotReady) + podOf("b", "node2", isReady), want: on("54.10.11.2")},
		{name: "case 156: one that isn't ready is better than none", objects: local + podOf("a", "node1", isNotReady), want: on("54.10.11.1")},
		{name: "case 156: terminating, if there is no better one", objects: local + terminating("a", "node1") + podOf("b", "node2", isNotReady), want: on("54.10.11.1")},
		{name: "case 156: terminating, but there is a better one", objects: local + terminating("a", "node1") + podOf("b", "node2", isReady), want: on("54.10.11.2")},
		{name: "case 156: pods that don't run", objects: local + podOf("a", "node1", "phase: Pending") + podOf("b", "node2", "phase: Succeeded"), want: fooKey + srv},
		{
			name: "case 156: a pod that isn't selected", want: on("54.10.11.1"),
			objects: local + podOf("a", "node1", isReady) + "\n---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: testing, name: z, labels: {app: foobar}}\nspec: {nodeName: node2}\nstatus: {" + isReady + "}\n",
		},
		{
			name: "case 156: a pod of another namespace", want: fooKey + srv,
			objects: local + "\n---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: other, name: z, labels: {app: foo}}\nspec: {nodeName: node2}\nstatus: {" + isReady + "}\n",
		},
		{
			name:    "W1: without a selector, all pods of the namespace count as selected",
			objects: strings.Replace(local, ", selector: {app: foo}", "", 1) + strings.Replace(podOf("a", "node2", isReady), "app: foo", "", 1), want: on("54.10.11.2"),
		},
		{name: "case 156: a pod on an unknown node", objects: local + podOf("a", "node7", isReady), want: fooKey + srv},
		{name: "case 156: the best pod decides even if its node is unschedulable", objects: local + cordoned + podOf("a", "node9", isReady) + podOf("b", "node1", isNotReady), want: fooKey + srv},
	})
}

func TestKopsOnNodes(t *testing.T) {
	flags := []string{"--compatibility=kops-dns-controller"}
	external, internal := "dns.alpha.kubernetes.io/external: out.example.org", "dns.alpha.kubernetes.io/internal: in.example.org"
	runCases(t, []fixtureCase{
		{
			name: "case 158: external", objects: specified(external, "type: NodePort") + twoNodes, flags: flags,
			want: fooKey + "  out.example.org A 54.10.11.2" + foo,
		},
		{
			name: "case 158: external with the flag", objects: specified(external, "type: NodePort") + twoNodes, flags: append(flags, "--expose-internal-ipv6"),
			want: fooKey + "  out.example.org A 54.10.11.2" + foo + "  out.example.org AAAA 2001:db8::2" + foo,
		},
		{
			name: "case 158: internal", objects: specified(internal, "type: NodePort") + twoNodes, flags: flags,
			want: fooKey + "  in.example.org A 10.0.1.2" + foo + "  in.example.org AAAA 2001:db8::2" + foo,
		},
		{name: "case 158: both", objects: specified(external+", "+internal, "type: NodePort") + twoNodes, flags: flags},
		{name: "case 158: mate knows no nodes", objects: specified("zalando.org/dnsname: mate.example.org", "type: NodePort") + twoNodes, flags: []string{"--compatibility=mate"}},
	})
}

// TestNodePortFollows shows that Changed is only called for Services that depend on what has changed, because
// pods and nodes change often.
func TestNodePortFollows(t *testing.T) {
	both := nodePortOf("", ", externalTrafficPolicy: Local") + `
---
apiVersion: v1
kind: Service
metadata: {namespace: testing, name: all, annotations: {external-dns.kubernetes.io/hostname: all.example.org}}
spec: {type: NodePort, selector: {app: foo}}
---
apiVersion: v1
kind: Service
metadata: {namespace: testing, name: lb, annotations: {external-dns.kubernetes.io/hostname: lb.example.org}}
spec: {type: LoadBalancer, selector: {app: foo}}
---
apiVersion: v1
kind: Service
metadata: {namespace: testing, name: plain}
spec: {type: NodePort, selector: {app: foo}}
`
	fixture := sourcetest.MustOpen(t, Plugin(), both+twoNodes+podOf("a", "node1", isReady))
	step := func(what, want string, do func()) {
		t.Helper()
		fixture.Changed()
		do()
		if got := fixture.Changed(); got != want {
			t.Errorf("%s has these evaluated:\n%swant\n%s", what, got, want)
		}
	}
	labelled := "\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node1, labels: {zone: a}}\nstatus: {addresses: [{type: ExternalIP, address: 54.10.11.1}, {type: InternalIP, address: 10.0.1.1}]}\n"
	step("an annotation of a node", "", func() { fixture.Apply(labelled) })
	step("another node", "testing/all\ntesting/foo\n", func() { fixture.Apply(cordoned) })
	step("a pod that becomes unready", "testing/foo\n", func() { fixture.Apply(podOf("a", "node1", isNotReady)) })
	step("an address of a pod", "testing/foo\n", func() { fixture.Apply(podOf("a", "node1", isNotReady+", podIP: 10.1.0.1, hostIP: 10.0.1.1")) })
	step("a pod that waits for a node", "testing/foo\n", func() { fixture.Apply(podOf("b", `""`, "phase: Pending")) })
	step("a pod that has finished", "testing/foo\n", func() { fixture.Apply(podOf("a", "node1", "phase: Failed")) })
	step("the end of that", "", func() { fixture.Delete("Pod", source.Key{Namespace: "testing", Name: "a"}) })
	step("a Service without a name", "", func() { fixture.Delete("Service", source.Key{Namespace: "testing", Name: "plain"}) })
}

// TestOnlySomeWaitForNodes shows that, without the right to read nodes, only Services that need nodes wait
// for them (dns F12).
func TestOnlySomeWaitForNodes(t *testing.T) {
	const unread = fooKey + "  error wait for the first list of the kind node\n"
	pods := member("foo-0", "", "") + sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"))
	tests := map[string]struct{ objects, want string }{
		"load balancer":                       {loadBalancer("P/hostname: foo.example.org", "{ip: 1.2.3.4}"), fooKey + "  foo.example.org A 1.2.3.4" + foo},
		"headless":                            {headlessOf("", "") + pods, fooKey + "  foo.example.org A 10.1.0.1" + foo},
		"headless at the addresses of nodes":  {headlessOf(", P/endpoints-type: NodeExternalIP", "") + pods, unread},
		"NodePort":                            {nodePortOf("", ""), unread},
		"NodePort with the annotation target": {nodePortOf(", P/target: 1.2.3.4", ""), fooKey + "  foo.example.org A 1.2.3.4" + foo},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fixture := sourcetest.OpenWithout(t, Plugin(), "nodes", withPrefix(test.objects)+internalNodes)
			if got := fixture.Records(); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}
