package service

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// headlessOf returns the headless Service foo.
func headlessOf(annotations, more string) string {
	return specified("P/hostname: foo.example.org"+annotations, "type: ClusterIP, clusterIP: None, selector: {app: foo}"+more)
}

// member returns a pod of foo. spec has additional fields.
func member(name, annotations, spec string) string {
	return withPrefix(`
---
apiVersion: v1
kind: Pod
metadata: {namespace: testing, name: ` + name + `, labels: {app: foo}, annotations: {` + annotations + `}}
spec: {nodeName: node1` + spec + `}
status: {hostIP: 10.0.1.1, phase: Running, conditions: [{type: Ready, status: 'True'}]}
`)
}

// sliceOf returns an EndpointSlice of the Service foo without a managed-by label.
func sliceOf(name, addressType string, endpoints ...string) string {
	return `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: testing, name: ` + name + `, labels: {kubernetes.io/service-name: foo, service.kubernetes.io/headless: ""}}
addressType: ` + addressType + `
endpoints: [` + strings.Join(endpoints, ", ") + `]
`
}

func at(address, pod string) string {
	return `{addresses: ["` + address + `"], targetRef: {kind: Pod, name: ` + pod + `, namespace: testing}}`
}

func notReadyAt(address, pod string) string {
	return strings.TrimSuffix(at(address, pod), "}") + ", conditions: {ready: false}}"
}

func TestHeadless(t *testing.T) {
	named := member("foo-0", "", ", hostname: foo-0") + member("foo-1", "", ", hostname: foo-1")
	unnamed := member("foo-0", "", "") + member("foo-1", "", "")
	two := sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"), at("10.1.0.2", "foo-1"))
	oneReady := sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"), notReadyAt("10.1.0.2", "foo-1"))
	both := fooKey + "  foo-0.foo.example.org A 10.1.0.1" + foo + "  foo-1.foo.example.org A 10.1.0.2" + foo + "  foo.example.org A 10.1.0.1 10.1.0.2" + foo
	runCases(t, []fixtureCase{
		{name: "case 159: pods with hostnames", objects: headlessOf("", "") + named + two, want: both},
		{
			name:    "case 159: IPv6",
			objects: headlessOf("", "") + named + sliceOf("s", "IPv6", at("2001:db8::1", "foo-0"), at("2001:db8:0:0::2", "foo-1")),
			want: fooKey + "  foo-0.foo.example.org AAAA 2001:db8::1" + foo + "  foo-1.foo.example.org AAAA 2001:db8::2" + foo +
				"  foo.example.org AAAA 2001:db8::1 2001:db8::2" + foo,
		},
		{
			name:    "case 159: several slices, and only the first address of an endpoint",
			objects: headlessOf("", "") + named + sliceOf("s", "IPv4", strings.Replace(at("10.1.0.1", "foo-0"), `"]`, `", "10.1.0.9"]`, 1)) + sliceOf("t", "IPv4", at("10.1.0.2", "foo-1")),
			want:    both,
		},
		{
			name: "case 160: a pod that isn't ready", objects: headlessOf("", "") + named + oneReady,
			want: fooKey + "  foo-0.foo.example.org A 10.1.0.1" + foo + "  foo.example.org A 10.1.0.1" + foo,
		},
		{name: "case 160: publishNotReadyAddresses", objects: headlessOf("", ", publishNotReadyAddresses: true") + named + oneReady, want: both},
		{name: "case 160: the flag", objects: headlessOf("", "") + named + oneReady, flags: []string{"--always-publish-not-ready-addresses"}, want: both},
		{name: "case 161: pods without hostnames", objects: headlessOf("", "") + unnamed + two, want: fooKey + "  foo.example.org A 10.1.0.1 10.1.0.2" + foo},
		{
			name: "case 162: an address twice", objects: headlessOf("", "") + unnamed + sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"), at("10.1.0.1", "foo-1")),
			want: fooKey + "  foo.example.org A 10.1.0.1" + foo,
		},
		{
			name:    "case 163: targets of a pod",
			objects: headlessOf("", "") + member("foo-0", `P/target: "1.2.3.4, 2001:db8::9"`, ", hostname: foo-0") + member("foo-1", "", "") + two,
			want: fooKey + "  foo-0.foo.example.org A 1.2.3.4" + foo + "  foo-0.foo.example.org AAAA 2001:db8::9" + foo +
				"  foo.example.org A 1.2.3.4 10.1.0.2" + foo + "  foo.example.org AAAA 2001:db8::9" + foo,
		},
		{name: "case 167: the target annotation of the Service", objects: headlessOf(", P/target: 9.9.9.9", "") + named + two, want: fooKey + "  foo.example.org A 9.9.9.9" + foo},
		{
			name:    "an internal hostname is no different",
			objects: specified("P/internal-hostname: foo.example.org", "clusterIP: None, selector: {app: foo}") + named + two, want: both,
		},
		{
			name: "a template", objects: specified("", "clusterIP: None, selector: {app: foo}") + named + two, flags: []string{"--fqdn-template=foo.example.org"},
			want: both,
		},
		{
			name: "properties, set identifier and TTL", objects: headlessOf(`, P/ttl: "7", P/set-identifier: one, P/aws-weight: "1"`, "") + member("foo-0", "", "") +
				sliceOf("s", "IPv4", at("10.1.0.1", "foo-0")),
			want: fooKey + "  foo.example.org A 10.1.0.1 ttl=7 set=one aws/weight=1" + foo,
		},
	})
}

func TestHeadlessNodes(t *testing.T) {
	two := sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"), at("10.1.0.2", "foo-1"))
	pods := member("foo-0", "", ", hostname: foo-0") + strings.Replace(member("foo-1", "", ""), "node1", "node2", 1)
	external := fooKey + "  foo-0.foo.example.org A 54.10.11.1" + foo + "  foo.example.org A 54.10.11.1 54.10.11.2" + foo
	runCases(t, []fixtureCase{
		{name: "case 164: NodeExternalIP", objects: headlessOf(", P/endpoints-type: NodeExternalIP", "") + pods + two + twoNodes, want: external},
		{
			name: "case 164: NodeExternalIP with internal IPv6", objects: headlessOf(", P/endpoints-type: NodeExternalIP", "") + pods + two + twoNodes,
			flags: []string{"--expose-internal-ipv6"}, want: external + "  foo.example.org AAAA 2001:db8::2" + foo,
		},
		{
			name: "case 164: nodes are not read", objects: headlessOf(", P/endpoints-type: NodeExternalIP", "") + pods + two + twoNodes,
			flags: []string{"--service-type-filter=ClusterIP"},
			want:  fooKey + "  problem the annotation endpoints-type \"NodeExternalIP\": nodes are read only if --service-type-filter has NodePort; add it\n",
		},
		{name: "case 164: an unknown node", objects: headlessOf(", P/endpoints-type: NodeExternalIP", "") + pods + two},
		{
			name: "case 165: HostIP", objects: headlessOf(", P/endpoints-type: HostIP", "") + pods + two + twoNodes,
			want: fooKey + "  foo-0.foo.example.org A 10.0.1.1" + foo + "  foo.example.org A 10.0.1.1" + foo,
		},
		{
			name: "case 165: publish-host-ip", objects: headlessOf("", "") + pods + two, flags: []string{"--publish-host-ip"},
			want: fooKey + "  foo-0.foo.example.org A 10.0.1.1" + foo + "  foo.example.org A 10.0.1.1" + foo,
		},
		{
			name: "case 165: the case of the annotation counts", objects: headlessOf(", P/endpoints-type: hostip", "") + pods + two,
			want: fooKey + "  foo-0.foo.example.org A 10.1.0.1" + foo + "  foo.example.org A 10.1.0.1 10.1.0.2" + foo,
		},
		{
			name: "the target annotation of a pod comes first", objects: headlessOf(", P/endpoints-type: HostIP", "") +
				member("foo-0", "P/target: 1.2.3.4", "") + sliceOf("s", "IPv4", at("10.1.0.1", "foo-0")),
			want: fooKey + "  foo.example.org A 1.2.3.4" + foo,
		},
	})
}

func TestHeadlessLeavesOut(t *testing.T) {
	pod := member("foo-0", "", "")
	known := at("10.1.0.1", "foo-0")
	one := "  foo.example.org A 10.1.0.1" + foo
	noRef := "  problem an endpoint of EndpointSlice s \"10.1.0.7\": it doesn't refer to a Pod of the namespace, so it is left out; set its targetRef\n"
	runCases(t, []fixtureCase{
		{name: "case 166: a slice of names", objects: headlessOf("", "") + pod + sliceOf("s", "FQDN", at("a.example.com", "foo-0"))},
		{
			name: "case 166: a slice of names does when it isn't the address that counts", objects: headlessOf(", P/endpoints-type: HostIP", "") + pod + sliceOf("s", "FQDN", at("a.example.com", "foo-0")),
			want: fooKey + "  foo.example.org A 10.0.1.1" + foo,
		},
		{name: "case 166: no targetRef", objects: headlessOf("", "") + pod + sliceOf("s", "IPv4", known, `{addresses: [10.1.0.7]}`), want: fooKey + one + noRef},
		{
			name: "case 166: no pod", objects: headlessOf("", "") + pod + sliceOf("s", "IPv4", known, `{addresses: [10.1.0.7], targetRef: {kind: Node, name: foo-0}}`),
			want: fooKey + one + noRef,
		},
		{
			name: "case 166: a pod of another API", objects: headlessOf("", "") + pod + sliceOf("s", "IPv4", known, `{addresses: [10.1.0.7], targetRef: {kind: Pod, name: foo-0, apiVersion: v1}}`),
			want: fooKey + one + noRef,
		},
		{
			name: "a pod of another namespace", objects: headlessOf("", "") + pod + sliceOf("s", "IPv4", known, `{addresses: [10.1.0.7], targetRef: {kind: Pod, name: foo-0, namespace: other}}`),
			want: fooKey + one + noRef,
		},
		{
			name: "case 166: an unknown pod", objects: headlessOf("", "") + pod + sliceOf("s", "IPv4", known, at("10.1.0.7", "gone")),
			want: fooKey + one + "  problem an endpoint of EndpointSlice s \"gone\": the Service selects no pod of this name, so it is left out; check its targetRef\n",
		},
		{
			name: "case 166: a pod that isn't selected", objects: headlessOf("", "") + pod + strings.Replace(member("other", "", ""), "app: foo", "app: bar", 1) +
				sliceOf("s", "IPv4", known, at("10.1.0.7", "other")),
			want: fooKey + one + "  problem an endpoint of EndpointSlice s \"other\": the Service selects no pod of this name, so it is left out; check its targetRef\n",
		},
		{
			name: "an unknown pod in a slice that the controller wrote is about to be known", objects: headlessOf("", "") + pod +
				strings.Replace(sliceOf("s", "IPv4", known, at("10.1.0.7", "gone")), "labels: {", "labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io, ", 1),
			want: fooKey + one,
		},
		{
			name: "a slice that says it isn't of a headless Service", objects: headlessOf("", "") + pod +
				strings.Replace(sliceOf("s", "IPv4", known), "service.kubernetes.io/headless: \"\"", "endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io", 1),
		},
		{
			name: "a slice that a user wrote", objects: headlessOf("", "") + pod + strings.Replace(sliceOf("s", "IPv4", known), ", service.kubernetes.io/headless: \"\"", "", 1),
			want: fooKey + one,
		},
		{
			name: "W1: without a selector, all pods of the namespace count as selected", objects: specified("P/hostname: foo.example.org", "clusterIP: None") + pod +
				strings.Replace(member("bare", "", ""), "app: foo", "", 1) + strings.Replace(member("apart", "", ""), "testing", "other", 1) +
				sliceOf("s", "IPv4", known, at("10.1.0.2", "bare"), at("10.1.0.7", "apart")),
			want: fooKey + "  foo.example.org A 10.1.0.1 10.1.0.2" + foo +
				"  problem an endpoint of EndpointSlice s \"apart\": the Service selects no pod of this name, so it is left out; check its targetRef\n",
		},
		{
			name: "a pod that has finished", objects: headlessOf("", "") + strings.Replace(pod, "phase: Running", "phase: Succeeded", 1) +
				strings.Replace(sliceOf("s", "IPv4", known), "labels: {", "labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io, ", 1),
		},
	})
}

// TestSharedNames shows the parts of each Service in cases 169 and 170. Package desired merges them.
func TestSharedNames(t *testing.T) {
	another := func(text string) string {
		return "\n---\n" + strings.NewReplacer("name: foo,", "name: bar,", "service-name: foo", "service-name: bar", "name: s,", "name: t,").Replace(text)
	}
	service, members := headlessOf(", P/endpoints-type: HostIP", ""), member("foo-0", "", "")
	slice := sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"))
	balancer := loadBalancer("P/hostname: foo.example.org", "{ip: 1.2.3.4}, {hostname: lb.example.com}")
	runCases(t, []fixtureCase{
		{
			name: "case 169: two headless Services on a node", objects: service + another(service) + members + slice + another(slice),
			want: "testing/bar\n  foo.example.org A 10.0.1.1 resource=service/testing/bar\n" + fooKey + "  foo.example.org A 10.0.1.1" + foo,
		},
		{
			name: "case 170: two load balancers", objects: balancer + another(balancer),
			want: "testing/bar\n  foo.example.org A 1.2.3.4 resource=service/testing/bar\n  foo.example.org CNAME lb.example.com resource=service/testing/bar\n" +
				fooKey + "  foo.example.org A 1.2.3.4" + foo + "  foo.example.org CNAME lb.example.com" + foo,
		},
	})
}

// TestHeadlessFollows shows that endpoints are followed with and without the flag, and that Changed is only
// called when the result may change (case 172).
func TestHeadlessFollows(t *testing.T) {
	virtual := `
---
apiVersion: v1
kind: Service
metadata: {namespace: testing, name: bar, annotations: {external-dns.kubernetes.io/hostname: bar.example.org}}
spec: {clusterIP: 10.0.0.9, selector: {app: foo}}
`
	objects := headlessOf("", "") + virtual + member("foo-0", "", "") + twoNodes
	slice := func(endpoints ...string) string { return sliceOf("s", "IPv4", endpoints...) }
	for _, flags := range [][]string{nil, {"--listen-endpoint-events"}} {
		fixture := sourcetest.MustOpen(t, Plugin(), withPrefix(objects)+slice(at("10.1.0.1", "foo-0")), flags...)
		step := func(what, want string, do func()) {
			t.Helper()
			fixture.Changed()
			do()
			if got := fixture.Changed(); got != want {
				t.Errorf("case 172: with the flags %v, %s has these evaluated:\n%swant\n%s", flags, what, got, want)
			}
		}
		step("a slice that changes", fooKey, func() { fixture.Apply(slice(notReadyAt("10.1.0.1", "foo-0"))) })
		step("a slice that changes in a port", "", func() { fixture.Apply(slice(notReadyAt("10.1.0.1", "foo-0")) + "ports: [{port: 80}]\n") })
		step("a slice of a Service with an address", "", func() {
			fixture.Apply(strings.NewReplacer("service-name: foo", "service-name: bar", "name: s,", "name: b,").Replace(slice(at("10.1.0.1", "foo-0"))))
		})
		step("a slice that changes hands", fooKey, func() {
			fixture.Apply(strings.Replace(slice(), "service-name: foo", "service-name: bar", 1))
		})
		step("a pod that gets a hostname", fooKey, func() { fixture.Apply(member("foo-0", "", ", hostname: foo-0")) })
		step("a pod whose readiness changes", fooKey, func() {
			fixture.Apply(strings.Replace(member("foo-0", "", ", hostname: foo-0"), "'True'", "'False'", 1))
		})
		step("a pod that changes its labels", fooKey, func() {
			fixture.Apply(strings.Replace(member("foo-0", "", ", hostname: foo-0"), "app: foo", "app: other", 1))
		})
		step("a node that goes", "", func() { fixture.Delete("Node", source.Key{Name: "node1"}) })
	}
}

// TestNodesAreFollowed covers Services that depend on nodes without being of type NodePort, or despite a
// target annotation.
func TestNodesAreFollowed(t *testing.T) {
	for _, test := range []struct{ name, service, before, after string }{
		{
			name: "case 164: NodeExternalIP", service: headlessOf(", P/endpoints-type: NodeExternalIP", ""),
			before: "  foo.example.org A 54.10.11.1" + foo, after: "  foo.example.org A 54.10.11.77" + foo,
		},
		{
			name:    "case 158: kops, whatever the annotation target is",
			service: specified("dns.alpha.kubernetes.io/external: kops.example.org, P/target: 9.9.9.9", "type: NodePort"),
			before:  "  kops.example.org A 54.10.11.2" + foo, after: "  kops.example.org A 54.10.11.2 54.10.11.77" + foo,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects := test.service + twoNodes + member("foo-0", "", "") + sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"))
			fixture := sourcetest.MustOpen(t, Plugin(), objects, "--compatibility=kops-dns-controller")
			if got := fixture.Records(); got != fooKey+test.before {
				t.Errorf("got\n%swant\n%s", got, fooKey+test.before)
			}
			fixture.Changed()
			fixture.Apply(`
apiVersion: v1
kind: Node
metadata: {name: node1, labels: {node-role.kubernetes.io/node: ""}}
status: {addresses: [{type: ExternalIP, address: 54.10.11.77}]}
`)
			if changed := fixture.Changed(); changed != fooKey {
				t.Errorf("a node that changed has these evaluated: %q, want %q", changed, fooKey)
			}
			if got := fixture.Records(); got != fooKey+test.after {
				t.Errorf("then got\n%swant\n%s", got, fooKey+test.after)
			}
		})
	}
}

// TestHeadlessWaitsForPods shows that a headless Service has no problem at the start, before its pods were
// read (W12).
func TestHeadlessWaitsForPods(t *testing.T) {
	objects := withPrefix(headlessOf("", "") + member("foo-0", "", "") + sliceOf("s", "IPv4", at("10.1.0.1", "foo-0"), at("10.1.0.7", "gone")))
	sourcetest.Waits(t, Plugin(), "pods", objects, "testing/foo", "pod", fooKey+"  foo.example.org A 10.1.0.1"+foo+
		"  problem an endpoint of EndpointSlice s \"gone\": the Service selects no pod of this name, so it is left out; check its targetRef\n")
}

// TestOthersDontWait shows that a Service that needs no pods doesn't wait for them.
func TestOthersDontWait(t *testing.T) {
	fixture := sourcetest.OpenWithout(t, Plugin(), "pods", loadBalancer("P/hostname: foo.example.org", "{ip: 1.2.3.4}"))
	if got, want := fixture.Records(), fooKey+"  foo.example.org A 1.2.3.4"+foo; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
