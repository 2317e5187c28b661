package plugins_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// An object of each source that reads objects, without a name of its own, and the flags that the source
// needs. All have the name "thing", so that templates can be told from what the object says.
var things = map[string]struct{ manifest, flags string }{
	"ambassador-host":      {manifest: thing("getambassador.io/v3alpha1", "Host", "spec: {hostname: own.example.org}", "external-dns.ambassador-service: default/none")},
	"contour-httpproxy":    {manifest: thing("projectcontour.io/v1", "HTTPProxy", "spec: {virtualhost: {fqdn: own.example.org}}\nstatus: {currentStatus: valid, loadBalancer: {ingress: [{ip: 192.0.2.1}]}}")},
	"contour-ingressroute": {manifest: thing("contour.heptio.com/v1beta1", "IngressRoute", "spec: {virtualhost: {fqdn: own.example.org}}\nstatus: {currentStatus: valid}", "external-dns.kubernetes.io/target: 192.0.2.1")},
	"crd":                  {manifest: thing("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "spec: {endpoints: [{dnsName: own.example.org, recordType: A, targets: [192.0.2.1]}]}")},
	"externalworkload":     {manifest: thing("workload.linkerd.io/v1beta1", "ExternalWorkload", "spec: {meshTLS: {identity: a.example.org, serverName: a.example.org}, workloadIPs: [{ip: 192.0.2.1}]}")},
	"f5-transportserver":   {manifest: thing("cis.f5.com/v1", "TransportServer", "spec: {host: own.example.org}\nstatus: {vsAddress: 192.0.2.1}")},
	"f5-virtualserver":     {manifest: thing("cis.f5.com/v1", "VirtualServer", "spec: {host: own.example.org}\nstatus: {vsAddress: 192.0.2.1}")},
	"gloo-proxy":           {manifest: thing("gloo.solo.io/v1", "Proxy", "spec: {}") + thing("v1", "Service", "spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}"), flags: "--gloo-namespace=default"},
	"ingress":              {manifest: thing("networking.k8s.io/v1", "Ingress", "spec: {rules: [{host: own.example.org}]}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}")},
	"kong-tcpingress":      {manifest: thing("configuration.konghq.com/v1beta1", "TCPIngress", "spec: {rules: [{host: own.example.org}]}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}")},
	"node":                 {manifest: "---\napiVersion: v1\nkind: Node\nmetadata: {name: thing}\nstatus: {addresses: [{type: ExternalIP, address: 192.0.2.1}]}\n"},
	"openshift-route":      {manifest: thing("route.openshift.io/v1", "Route", "spec: {}\nstatus: {ingress: [{host: own.example.org, routerCanonicalHostname: router.example.net, conditions: [{type: Admitted, status: \"True\"}]}]}")},
	"pod":                  {manifest: thing("v1", "Pod", "spec: {nodeName: node-1, containers: []}\nstatus: {podIP: 192.0.2.1, podIPs: [{ip: 192.0.2.1}]}")},
	"service":              {manifest: thing("v1", "Service", "spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}")},
	"skipper-routegroup":   {manifest: thing("zalando.org/v1", "RouteGroup", "spec: {hosts: [own.example.org]}\nstatus: {loadBalancer: {routeGroup: [{hostname: lb.example.net}]}}")},
	"traefik-proxy":        {manifest: thing("traefik.io/v1alpha1", "IngressRoute", "spec: {routes: []}", "external-dns.kubernetes.io/target: 192.0.2.1")},
}

// otherTests name the tests that show the same of sources whose objects need others around them.
var otherTests = map[string]string{
	"gateway-httproute": "dns/source/gateway", "gateway-grpcroute": "dns/source/gateway", "gateway-tlsroute": "dns/source/gateway",
	"gateway-tcproute": "dns/source/gateway", "gateway-udproute": "dns/source/gateway",
	"unstructured": "dns/source/unstructured", "istio-gateway": "dns/source/istiogateway", "istio-virtualservice": "dns/source/istiovirtualservice",
	"connector": "reads no objects", "fake": "reads no objects", "empty": "reads no objects",
}

// thing is an object with this apiVersion and kind, the rest of its fields, and annotations.
func thing(version, kind, rest string, annotations ...string) string {
	return "---\napiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: thing, namespace: default, annotations: {" + strings.Join(annotations, ", ") + "}}\n" + rest + "\n"
}

// peers P3: each setting that several sources share is read by a source if, and only if, its plugin
// says so: the checks of flags, the reference and the messages go by what it says.
func TestSettingsAreRead(t *testing.T) {
	const pair, name, target = "pair.example.org", "fqdn.example.org", "192.0.2.77"
	for _, p := range plugins.Sources() {
		if otherTests[p.Name] != "" {
			continue
		}
		thing, ok := things[p.Name]
		if !ok {
			t.Errorf("source %s: add an object to this test, or the test that shows which settings it reads", p.Name)
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			records := func(flags ...string) string {
				return sourcetest.MustOpen(t, p, thing.manifest, append(strings.Fields(thing.flags), flags...)...).Records()
			}
			for _, test := range []struct {
				setting string
				says    bool
				flags   []string
				want    string
			}{
				{"--fqdn-target-template", p.PairTemplates, []string{"--fqdn-target-template=" + pair + ":" + target, "--combine-fqdn-annotation"}, pair + " A " + target},
				{"--fqdn-template", p.Templates, []string{"--fqdn-template=" + name, "--combine-fqdn-annotation"}, name},
				{"--target-template", p.TargetTemplates, []string{"--fqdn-template=" + name, "--target-template=" + target, "--combine-fqdn-annotation"}, name + " A " + target},
			} {
				if got := records(test.flags...); strings.Contains(got, test.want) != test.says {
					t.Errorf("the plugin says %t of %s; records:\n%s", test.says, test.setting, got)
				}
			}
			if !p.Templates {
				return
			}
			for filter, flag := range map[string]string{"annotation": "--annotation-filter=never=there", "label": "--label-filter=never=there"} {
				got := records("--fqdn-template="+name, flag)
				if filtered := !strings.Contains(got, name); filtered != slices.Contains(p.Filters, filter) {
					t.Errorf("the plugin says %v of filters; with %s:\n%s", p.Filters, flag, got)
				}
			}
			if got := records("--fqdn-template="+name, "--namespace=other"); strings.Contains(got, name) != !strings.Contains(p.Namespaces, "single") {
				t.Errorf("the plugin says %q of namespaces; with --namespace=other:\n%s", p.Namespaces, got)
			}
		})
	}
	for name := range otherTests {
		if !slices.ContainsFunc(plugins.Sources(), func(p source.Plugin) bool { return p.Name == name }) {
			t.Errorf("there is no source %s", name)
		}
	}
}
