package plugins_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// noAddresses are the sources that this test has no objects of, and why.
var noAddresses = map[string]string{
	"unstructured": "reads annotations only, with Reader.Publish, which TestFoundLimits is about",
	"connector":    "reads no objects", "fake": "reads no objects", "empty": "reads no objects",
}

const (
	annotatedName = "external-dns.kubernetes.io/hostname: own.example.org"
	lbStatus      = "status: {loadBalancer: {ingress: ADDRESSES}}"
	lbService     = "---\napiVersion: v1\nkind: Service\nmetadata: {name: lb, namespace: lb}\nspec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: ADDRESSES}}\n"
	manyNode      = "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {addresses: NODEADDRESSES}\n"
)

// gatewayRoute is a route of a Gateway with many addresses.
func gatewayRoute(version, kind, protocol string) map[string]string {
	route := thing("gateway.networking.k8s.io/"+version, kind, `spec: {parentRefs: [{name: edge}]}
status: {parents: [{parentRef: {name: edge}, conditions: [{type: Accepted, status: "True"}]}]}`, annotatedName)
	gateway := "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: default, annotations: {ANNOTATION}}\n" +
		"spec: {gatewayClassName: example, listeners: [{name: all, protocol: " + protocol + ", port: 80, hostname: \"*.example.org\"}]}\n"
	if protocol == "TCP" || protocol == "UDP" {
		gateway = strings.Replace(gateway, `, hostname: "*.example.org"`, "", 1)
	}
	return map[string]string{
		"status":     strings.Replace(gateway, "ANNOTATION", "", 1) + "status: {addresses: VALUES}\n" + route,
		"annotation": strings.Replace(gateway, "ANNOTATION", "external-dns.kubernetes.io/target: TARGETS", 1) + route,
	}
}

// annotated is an object whose annotation target lists many addresses.
func annotated(version, kind, rest string, annotations ...string) string {
	return thing(version, kind, rest, append(annotations, "external-dns.kubernetes.io/target: TARGETS")...)
}

// manyAddresses has, for each source, objects with far more addresses than are used, by the place of these.
// The flags that a source needs are those of things.
var manyAddresses = map[string]map[string]string{
	"ambassador-host": {
		"status of the Service": lbService + thing("getambassador.io/v3alpha1", "Host", "spec: {hostname: own.example.org}", "external-dns.ambassador-service: lb/lb"),
		"external IPs": strings.Replace(lbService, "spec: {", "spec: {externalIPs: IPS, ", 1) +
			thing("getambassador.io/v3alpha1", "Host", "spec: {hostname: own.example.org}", "external-dns.ambassador-service: lb/lb"),
		"annotation": annotated("getambassador.io/v3alpha1", "Host", "spec: {hostname: own.example.org}", "external-dns.ambassador-service: lb/lb"),
	},
	"contour-httpproxy": {
		"status":     thing("projectcontour.io/v1", "HTTPProxy", "spec: {virtualhost: {fqdn: own.example.org}}\n"+lbStatus),
		"annotation": annotated("projectcontour.io/v1", "HTTPProxy", "spec: {virtualhost: {fqdn: own.example.org}}"),
	},
	"contour-ingressroute": {
		"status of the Service": lbService + thing("contour.heptio.com/v1beta1", "IngressRoute", "spec: {virtualhost: {fqdn: own.example.org}}\nstatus: {currentStatus: valid}"),
		"annotation":            annotated("contour.heptio.com/v1beta1", "IngressRoute", "spec: {virtualhost: {fqdn: own.example.org}}\nstatus: {currentStatus: valid}"),
	},
	"crd": {
		"one endpoint": thing("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "spec: {endpoints: [{dnsName: own.example.org, recordType: AAAA, targets: IPS}]}"),
		"many endpoints of one name": thing("externaldns.k8s.io/v1alpha1", "DNSEndpoint",
			"spec: {endpoints: "+sourcetest.Many(`{dnsName: own.example.org, recordType: AAAA, targets: ["2001:db8::%x"]}`)+"}"),
	},
	"externalworkload": {
		"spec": thing("workload.linkerd.io/v1beta1", "ExternalWorkload",
			"spec: {meshTLS: {identity: a.example.org, serverName: a.example.org}, workloadIPs: ADDRESSES}", annotatedName),
		"annotation": annotated("workload.linkerd.io/v1beta1", "ExternalWorkload",
			"spec: {meshTLS: {identity: a.example.org, serverName: a.example.org}, workloadIPs: []}", annotatedName),
	},
	"f5-transportserver": {"annotation": annotated("cis.f5.com/v1", "TransportServer", "spec: {host: own.example.org}\nstatus: {vsAddress: 192.0.2.1}")},
	"f5-virtualserver":   {"annotation": annotated("cis.f5.com/v1", "VirtualServer", "spec: {host: own.example.org}\nstatus: {vsAddress: 192.0.2.1}")},
	"gateway-httproute":  gatewayRoute("v1", "HTTPRoute", "HTTP"),
	"gateway-grpcroute":  gatewayRoute("v1", "GRPCRoute", "HTTP"),
	"gateway-tlsroute":   gatewayRoute("v1", "TLSRoute", "TLS"),
	"gateway-tcproute":   gatewayRoute("v1alpha2", "TCPRoute", "TCP"),
	"gateway-udproute":   gatewayRoute("v1alpha2", "UDPRoute", "UDP"),
	"gloo-proxy": {
		"status of the Service": thing("v1", "Service", "spec: {type: LoadBalancer}\n"+lbStatus) + glooProxy(),
		"annotation":            glooProxy("external-dns.kubernetes.io/target: TARGETS"),
	},
	"ingress": {
		"status":     thing("networking.k8s.io/v1", "Ingress", "spec: {rules: [{host: own.example.org}]}\n"+lbStatus),
		"annotation": annotated("networking.k8s.io/v1", "Ingress", "spec: {rules: [{host: own.example.org}]}"),
	},
	"istio-gateway": {
		"status of the Service": lbService + istioGateway("own.example.org"),
		"external IPs":          strings.Replace(lbService, "spec: {", "spec: {externalIPs: IPS, ", 1) + istioGateway("own.example.org"),
		"status of an Ingress": thing("networking.k8s.io/v1", "Ingress", lbStatus) +
			istioGateway("own.example.org", "external-dns.kubernetes.io/ingress: thing"),
		"annotation": istioGateway("own.example.org", "external-dns.kubernetes.io/target: TARGETS"),
	},
	"istio-virtualservice": {
		"status of the Service": lbService + istioGateway("*.example.org") + thing("networking.istio.io/v1", "VirtualService", "spec: {hosts: [own.example.org], gateways: [thing]}"),
		"annotation":            istioGateway("*.example.org") + annotated("networking.istio.io/v1", "VirtualService", "spec: {hosts: [own.example.org], gateways: [thing]}"),
	},
	"kong-tcpingress": {
		"status":     thing("configuration.konghq.com/v1beta1", "TCPIngress", "spec: {rules: [{host: own.example.org}]}\n"+lbStatus),
		"annotation": annotated("configuration.konghq.com/v1beta1", "TCPIngress", "spec: {rules: [{host: own.example.org}]}"),
	},
	"node": {
		"status":     manyNode,
		"annotation": "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1, annotations: {external-dns.kubernetes.io/target: TARGETS}}\n",
	},
	"openshift-route": {"annotation": annotated("route.openshift.io/v1", "Route",
		"spec: {}\nstatus: {ingress: [{host: own.example.org, routerCanonicalHostname: router.example.net, conditions: [{type: Admitted, status: \"True\"}]}]}")},
	"pod": {
		"status of the Node": manyNode + thing("v1", "Pod", "spec: {nodeName: node-1, containers: []}\nstatus: {podIP: 192.0.2.1}", annotatedName),
		"annotation":         annotated("v1", "Pod", "spec: {nodeName: node-1, containers: []}\nstatus: {podIP: 192.0.2.1}", annotatedName),
	},
	"service": {
		"status":       thing("v1", "Service", "spec: {type: LoadBalancer}\n"+lbStatus, annotatedName),
		"external IPs": thing("v1", "Service", "spec: {type: LoadBalancer, externalIPs: IPS}", annotatedName),
		"ExternalName": thing("v1", "Service", "spec: {type: ExternalName, externalName: a.example.net, externalIPs: IPS}", annotatedName),
		"annotation":   annotated("v1", "Service", "spec: {type: LoadBalancer}", annotatedName),
		"a pod of a headless Service": thing("v1", "Service", "spec: {clusterIP: None, selector: {app: db}}", annotatedName) +
			"---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: thing, namespace: default, labels: {kubernetes.io/service-name: thing}}\n" +
			"addressType: IPv4\nendpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, name: thing}}]\n" +
			strings.Replace(annotated("v1", "Pod", "spec: {containers: [{name: db, image: db}]}"), "metadata: {", "metadata: {labels: {app: db}, ", 1),
		"a node of a NodePort Service": manyNode + thing("v1", "Service", "spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}", annotatedName),
	},
	"skipper-routegroup": {
		"status":     thing("zalando.org/v1", "RouteGroup", "spec: {hosts: [own.example.org]}\nstatus: {loadBalancer: {routeGroup: ADDRESSES}}"),
		"annotation": annotated("zalando.org/v1", "RouteGroup", "spec: {hosts: [own.example.org]}"),
	},
	"traefik-proxy": {"annotation": annotated("traefik.io/v1alpha1", "IngressRoute", "spec: {routes: [{match: Host(`own.example.org`)}]}")},
}

// limitFlags are the flags that the sources need besides those of things.
var limitFlags = map[string]string{"contour-ingressroute": "--contour-load-balancer=lb/lb"}

func istioGateway(host string, annotations ...string) string {
	return thing("networking.istio.io/v1", "Gateway", "spec: {servers: [{hosts: [\""+host+"\"]}]}", annotations...)
}

func glooProxy(annotations ...string) string {
	return thing("gloo.solo.io/v1", "Proxy", "spec: {listeners: [{name: http, bindPort: 80, httpListener: {virtualHosts: [{name: a, domains: [own.example.org]}]}}]}", annotations...)
}

// Whatever an object lists as addresses, a name gets at most source.AddressLimit of them, and a problem says
// that there are more. No server of DNS could answer with thousands.
func TestAddressLimits(t *testing.T) {
	ip := "2001:db8::%x"
	fill := strings.NewReplacer(
		"NODEADDRESSES", sourcetest.Many(`{type: ExternalIP, address: "`+ip+`"}`),
		"ADDRESSES", sourcetest.Many(`{ip: "`+ip+`"}`), "VALUES", sourcetest.Many(`{value: "`+ip+`"}`), "IPS", sourcetest.Many(`"`+ip+`"`),
		"TARGETS", strings.NewReplacer("[", `"`, "]", `"`).Replace(sourcetest.Many(ip)),
	)
	for _, p := range plugins.Sources() {
		places := slices.Sorted(maps.Keys(manyAddresses[p.Name]))
		if len(places) == 0 && noAddresses[p.Name] == "" {
			t.Errorf("source %s: add an object with many addresses to this test", p.Name)
		}
		for _, place := range places {
			t.Run(p.Name+"/"+place, func(t *testing.T) {
				t.Parallel()
				flags := strings.Fields(things[p.Name].flags + " " + limitFlags[p.Name])
				s := sourcetest.MustOpen(t, p, fill.Replace(manyAddresses[p.Name][place]), flags...)
				checkAddressLimit(t, s)
			})
		}
	}
}

func checkAddressLimit(t *testing.T, s *sourcetest.Fixture) {
	t.Helper()
	said := s.Reported()
	records := 0
	for _, r := range s.All() {
		for _, set := range r.Records {
			if set.Type == dns.TypeSRV {
				continue
			}
			if records++; len(set.Targets) > source.AddressLimit || len(set.Targets) < source.AddressLimit/2 {
				t.Errorf("%s %s has %d targets, want %d", set.Name, set.Type, len(set.Targets), source.AddressLimit)
			}
		}
		for _, p := range r.Problems {
			said = append(said, p.Text(func(value string) string { return `"` + value + `"` }))
		}
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	text := strings.Join(said, "\n")
	if records == 0 || !strings.Contains(text, source.TooMany(5000, source.AddressLimit)) || strings.Contains(text, `""`) || len(text) > 2000 {
		t.Errorf("%d record sets, and the problems are:\n%s", records, fmt.Sprintf("%.2000s", text))
	}
}
