package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/gateway"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

// plugins are the sources by the directories of their scenarios.
var plugins = map[string]source.Plugin{
	"httproute": gateway.HTTPRoute(), "grpcroute": gateway.GRPCRoute(), "tlsroute": gateway.TLSRoute(),
	"tcproute": gateway.TCPRoute(), "udproute": gateway.UDPRoute(),
}

func TestScenarios(t *testing.T) {
	for dir, plugin := range plugins {
		t.Run(dir, func(t *testing.T) { sourcetest.RunIn(t, plugin, "testdata/"+dir) })
	}
}

func TestRealAPIServer(t *testing.T) {
	cluster := kubetest.Start(t)
	// The experimental channel serves the versions of both channels.
	definitions(t, cluster, "experimental")
	for dir, plugin := range plugins {
		sourcetest.RunReal(t, plugin, dir+"/lifecycle")
	}
	sourcetest.RunReal(t, plugins["tcproute"], "tcproute/version")
	sourcetest.RunReal(t, plugins["httproute"], "httproute/listenersets")
}

const prefix = "external-dns.kubernetes.io/"

// object returns an object of the Gateway API in YAML, each part of it in one line.
func object(kind, metadata, spec, status string) string {
	return fmt.Sprintf("---\napiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata: {%s}\nspec: {%s}\nstatus: {%s}\n", kind, metadata, spec, status)
}

// gw returns a Gateway with an address and listeners.
func gw(metadata, address string, listeners ...string) string {
	return object("Gateway", metadata, "listeners: ["+strings.Join(listeners, ", ")+"]", "addresses: [{value: \""+address+"\"}]")
}

// open and wild are listeners.
const (
	open = "{name: web, port: 80, protocol: HTTP}"
	wild = `{name: wild, port: 443, protocol: HTTPS, hostname: "*.example.org"}`
)

// in adds the allowed namespaces of routes to a listener.
func in(listener, namespaces string) string {
	return strings.TrimSuffix(listener, "}") + ", allowedRoutes: {namespaces: {" + namespaces + "}}}"
}

// accepting returns the status of a route that parents have accepted.
func accepting(parents ...string) string {
	var list []string
	for _, p := range parents {
		list = append(list, "{parentRef: {"+p+"}, conditions: [{type: Accepted, status: \"True\"}]}")
	}
	return "parents: [" + strings.Join(list, ", ") + "]"
}

// route returns an HTTPRoute with hostnames that parents have accepted.
func route(metadata, hostnames string, parents ...string) string {
	refs := make([]string, len(parents))
	for i, p := range parents {
		refs[i] = "{" + p + "}"
	}
	return object("HTTPRoute", metadata, "hostnames: ["+hostnames+"], parentRefs: ["+strings.Join(refs, ", ")+"]", accepting(parents...))
}

func namespace(name, labels string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {%s}}\n", name, labels)
}

// record returns the line of an A record, or of a CNAME.
func record(name, targets string) string {
	kind := "A"
	if strings.Contains(targets, "example") {
		kind = "CNAME"
	}
	return "  " + name + " " + kind + " " + targets + " resource=httproute/default/shop\n"
}

// TestRecords covers spec/dns.md case 202 and the rest of §6.5.
func TestRecords(t *testing.T) {
	t.Parallel()
	const (
		shop = "name: shop"
		edge = "name: edge"
	)
	shopRecord := record("shop.example.org", "192.0.2.1")
	set := func(metadata, listener, listenerAccepted string) string {
		return object("ListenerSet", metadata, "parentRef: {name: edge, namespace: infra}, listeners: ["+listener+"]",
			`conditions: [{type: Accepted, status: "True"}], listeners: [{name: web, conditions: [{type: Accepted, status: "`+listenerAccepted+`"}]}]`)
	}
	letting := func(metadata, namespaces string) string {
		return object("Gateway", metadata, "allowedListeners: {namespaces: {"+namespaces+"}}, listeners: ["+wild+"]", "addresses: [{value: 192.0.2.1}]")
	}
	const ofSet = "kind: ListenerSet, name: extra"
	tests := []struct {
		name      string
		flags     []string
		manifests string
		want      string
	}{
		// Which Gateways.
		{"case 202 the name of a Gateway", []string{"--gateway-name=edge"}, gw(edge, "192.0.2.1", open) + gw("name: other", "192.0.2.2", open) + route(shop, "shop.example.org", edge, "name: other"), shopRecord},
		{"case 202 another name of a Gateway", []string{"--gateway-name=other"}, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge), ""},
		{"case 202 the namespace of Gateways", []string{"--gateway-namespace=infra"}, gw(edge, "192.0.2.9", open) + gw("name: edge, namespace: infra", "192.0.2.1", in(open, "from: All")) + route(shop, "shop.example.org", edge, "name: edge, namespace: infra"), shopRecord},
		{"case 202 the labels of Gateways", []string{"--gateway-label-filter=tier=public"}, gw(edge+", labels: {tier: public}", "192.0.2.1", open) + gw("name: other", "192.0.2.2", open) + route(shop, "shop.example.org", edge, "name: other"), shopRecord},
		{"a Gateway of another controller", nil, gw(edge+`, annotations: {`+prefix+`controller: other}`, "192.0.2.1", open) + route(shop, "shop.example.org", edge), ""},
		{"filters of routes are not for Gateways", []string{"--label-filter=a=b", "--annotation-filter=a=b", "--namespace=default"}, gw("name: edge, namespace: infra", "192.0.2.1", in(open, "from: All")) + route(shop+", labels: {a: b}, annotations: {a: b}", "shop.example.org", "name: edge, namespace: infra"), shopRecord},

		// Which routes.
		{"case 202 the namespace of routes", []string{"--namespace=other"}, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge), ""},
		{"case 202 the labels of routes", []string{"--label-filter=a=b"}, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge), ""},
		{"case 202 the annotations of routes", []string{"--annotation-filter=a=b"}, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge), ""},
		{"a route of another controller", nil, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"controller: other}", "shop.example.org", edge), ""},

		// Which listeners.
		{"case 202 the section", nil, gw(edge, "192.0.2.1", open, wild) + route(shop, "shop.example.org, shop.example.com", edge+", sectionName: wild"), shopRecord},
		{"case 202 no such section", nil, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge+", sectionName: none"), ""},
		{"case 202 the port", nil, gw(edge, "192.0.2.1", open, wild) + route(shop, "shop.example.org, shop.example.com", edge+", port: 443"), shopRecord},
		{"case 202 no such port", nil, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge+", port: 81"), ""},
		{"another protocol", nil, gw(edge, "192.0.2.1", "{name: web, port: 80, protocol: TCP}", "{name: t, port: 81, protocol: TLS}", "{name: own, port: 82, protocol: example.net/own}") + route(shop, "shop.example.org", edge), ""},
		{"the kinds of a listener", nil, gw(edge, "192.0.2.1", `{name: web, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}, {kind: HTTPRoute}]}}`) + route(shop, "shop.example.org", edge), shopRecord},
		{"other kinds of a listener", nil, gw(edge, "192.0.2.1", `{name: web, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}, {group: example.net, kind: HTTPRoute}]}}`) + route(shop, "shop.example.org", edge), ""},

		// Which names.
		{"case 202 a wildcard in the Gateway", nil, gw(edge, "192.0.2.1", wild) + route(shop, "shop.example.org, a.b.example.org, example.org, shop.example.com", edge), record("a.b.example.org", "192.0.2.1") + shopRecord},
		{"case 202 a wildcard in the route", nil, gw(edge, "192.0.2.1", `{name: web, port: 80, protocol: HTTP, hostname: shop.example.org}`) + route(shop, `"*.example.org"`, edge), shopRecord},
		{"case 202 a wildcard in both", nil, gw(edge, "192.0.2.1", wild) + route(shop, `"*.example.org", "*.a.example.org"`, edge), record("*.a.example.org", "192.0.2.1") + record("*.example.org", "192.0.2.1")},
		{"case 202 the name of the listener", nil, gw(edge, "192.0.2.1", `{name: web, port: 80, protocol: HTTP, hostname: shop.example.org}`) + route(shop, "", edge), shopRecord},
		{"case 202 no name anywhere", nil, gw(edge, "192.0.2.1", open) + route(shop, "", edge), ""},
		{"capitals, dots and letters", nil, gw(edge, "192.0.2.1", `{name: web, port: 80, protocol: HTTP, hostname: "*.EXAMPLE.org"}`) + route(shop, "Shop.example.org., bücher.example.org", edge), shopRecord + record("xn--bcher-kva.example.org", "192.0.2.1")},
		{"no names", nil, gw(edge, "192.0.2.1", open) + route(shop, `"192.0.2.7", a_b.example.org, "*", "2001:db8::1"`, edge), `  problem spec.hostnames "192.0.2.7": no listener can serve this name; use a name of DNS, such as www.example.org or *.example.org
  problem spec.hostnames "a_b.example.org": no listener can serve this name; use a name of DNS, such as www.example.org or *.example.org
  problem spec.hostnames "*": no listener can serve this name; use a name of DNS, such as www.example.org or *.example.org
  problem spec.hostnames "2001:db8::1": no listener can serve this name; use a name of DNS, such as www.example.org or *.example.org
`},

		// Names of annotations and templates.
		{"the annotation beside the spec", nil, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"hostname: www.example.org}", "shop.example.org", edge), shopRecord + record("www.example.org", "192.0.2.1")},
		{"the annotation beside the listener", nil, gw(edge, "192.0.2.1", wild) + route(shop+", annotations: {"+prefix+`hostname: "www.example.org,www.example.com"}`, "", edge), record("*.example.org", "192.0.2.1") + record("www.example.org", "192.0.2.1")},
		{"annotation-only", nil, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"hostname: www.example.org, "+prefix+"gateway-hostname-source: Annotation-Only}", "shop.example.org", edge), record("www.example.org", "192.0.2.1")},
		{"annotation-only, ignored", []string{"--ignore-hostname-annotation", "--fqdn-template={{.Name}}.example.org"}, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"hostname: www.example.org, "+prefix+"gateway-hostname-source: annotation-only}", "shop.example.org", edge), ""},
		{"defined-hosts-only", nil, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"hostname: www.example.org, "+prefix+"gateway-hostname-source: defined-hosts-only}", "shop.example.org", edge), shopRecord},
		{"defined-hosts-only without hosts", nil, gw(edge, "192.0.2.1", wild) + route(shop+", annotations: {"+prefix+"hostname: www.example.org, "+prefix+"gateway-hostname-source: defined-hosts-only}", "", edge), ""},
		{"another source of names", nil, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"hostname: www.example.org, "+prefix+"gateway-hostname-source: mine}", "shop.example.org", edge), shopRecord + record("www.example.org", "192.0.2.1") +
			"  problem external-dns.kubernetes.io/gateway-hostname-source \"mine\": no such source of names, so the annotation is ignored; use defined-hosts-only or annotation-only\n"},
		{"a template for a route with names", []string{"--fqdn-template={{.Name}}.example.net"}, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge), shopRecord},
		{"a template for a route without", []string{"--fqdn-template={{.Name}}.example.org"}, gw(edge, "192.0.2.1", open) + route(shop, "", edge), shopRecord},
		{"a template beside the listener", []string{"--fqdn-template={{.Name}}.example.org"}, gw(edge, "192.0.2.1", wild) + route(shop, "", edge), record("*.example.org", "192.0.2.1") + shopRecord},
		{"a template beside names", []string{"--fqdn-template={{.Name}}.example.net", "--combine-fqdn-annotation"}, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", edge), record("shop.example.net", "192.0.2.1") + shopRecord},
		{"a template that fails", []string{"--fqdn-template={{.Spec.Nothing}}.example.net"}, gw(edge, "192.0.2.1", open) + route(shop, "", edge), "  error"},

		// Namespaces.
		{"case 202 the same namespace", nil, gw("name: edge, namespace: infra", "192.0.2.1", open) + route(shop, "shop.example.org", "name: edge, namespace: infra"), ""},
		{"case 202 all namespaces", nil, gw("name: edge, namespace: infra", "192.0.2.1", in(open, "from: All")) + route(shop, "shop.example.org", "name: edge, namespace: infra"), shopRecord},
		{"case 202 a selector", nil, namespace("default", "team: a") + gw("name: edge, namespace: infra", "192.0.2.1", in(open, "from: Selector, selector: {matchLabels: {team: a}}")) + route(shop, "shop.example.org", "name: edge, namespace: infra"), shopRecord},
		{"case 202 another selector", nil, namespace("default", "team: a") + gw(edge, "192.0.2.1", in(open, "from: Selector, selector: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}")) + route(shop, "shop.example.org", edge), ""},
		{"case 202 no such namespace", nil, gw(edge, "192.0.2.1", in(open, "from: Selector, selector: {}")) + route(shop, "shop.example.org", edge), ""},
		{"no selector", nil, namespace("default", "team: a") + gw(edge, "192.0.2.1", in(open, "from: Selector")) + route(shop, "shop.example.org", edge), ""},
		{"no namespaces", nil, gw(edge, "192.0.2.1", in(open, "from: None")) + route(shop, "shop.example.org", edge), ""},

		// Parents.
		{"case 202 another parentRef", nil, gw(edge, "192.0.2.1", open) + object("HTTPRoute", shop, "hostnames: [shop.example.org], parentRefs: [{name: other}]", accepting(edge)), ""},
		{"no parentRefs", nil, gw(edge, "192.0.2.1", open) + object("HTTPRoute", shop, "hostnames: [shop.example.org]", accepting(edge)), ""},
		{"case 202 not accepted", nil, gw(edge, "192.0.2.1", open) + object("HTTPRoute", shop, "hostnames: [shop.example.org], parentRefs: [{name: edge}]", `parents: [{parentRef: {name: edge}, conditions: [{type: Accepted, status: "False"}, {type: ResolvedRefs, status: "True"}]}]`), ""},
		{"a parentRef of another group", nil, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", `group: "", kind: Service, name: edge`), ""},
		{"a parentRef of another kind", nil, gw(edge, "192.0.2.1", open) + route(shop, "shop.example.org", "kind: Mesh, name: edge"), ""},
		{"a parentRef with its defaults", nil, gw(edge, "192.0.2.1", open) + object("HTTPRoute", shop, "hostnames: [shop.example.org], parentRefs: [{name: edge}]", accepting("group: gateway.networking.k8s.io, kind: Gateway, namespace: default, name: edge")), shopRecord},
		{"an unreadable route", nil, gw(edge, "192.0.2.1", open) + object("HTTPRoute", shop, "hostnames: shop.example.org, parentRefs: [{name: edge}]", accepting(edge)), "  error"},

		// Targets.
		{"case 202 two Gateways", nil, gw(edge, "192.0.2.2", open) + gw("name: other", "192.0.2.1", wild) + route(shop, "shop.example.org, www.example.com", edge, "name: other"), record("shop.example.org", "192.0.2.1 192.0.2.2") + record("www.example.com", "192.0.2.2")},
		{"case 202 the target of one of two Gateways", nil, gw(edge+", annotations: {"+prefix+"target: 192.0.2.7}", "192.0.2.2", open) + gw("name: other", "192.0.2.1", wild) + route(shop, "shop.example.org", edge, "name: other"), record("shop.example.org", "192.0.2.1 192.0.2.7")},
		{"a target of the route", nil, gw(edge, "192.0.2.1", open) + route(shop+", annotations: {"+prefix+"target: 192.0.2.7}", "shop.example.org", edge), shopRecord},
		{"no address", nil, object("Gateway", edge, "listeners: ["+open+"]", "") + route(shop, "shop.example.org", edge), ""},
		{"a name as address", nil, gw(edge, "lb.example.net", open) + route(shop, "shop.example.org", edge), record("shop.example.org", "lb.example.net")},

		// ListenerSets.
		{"a ListenerSet without the flag", nil, letting("name: edge, namespace: infra", "from: All") + route(shop, "shop.example.org", ofSet), ""},
		{"a ListenerSet", []string{"--gateway-listener-sets"}, letting("name: edge, namespace: infra", "from: All") + set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), shopRecord},
		{"case 202 the target of a ListenerSet", []string{"--gateway-listener-sets"}, letting("name: edge, namespace: infra, annotations: {"+prefix+"target: 192.0.2.8}", "from: All") + set("name: extra, annotations: {"+prefix+"target: 192.0.2.7}", open, "True") + route(shop, "shop.example.org", ofSet), record("shop.example.org", "192.0.2.7")},
		{"the target of the Gateway of a ListenerSet", []string{"--gateway-listener-sets"}, letting("name: edge, namespace: infra, annotations: {"+prefix+"target: 192.0.2.8}", "from: All") + set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), record("shop.example.org", "192.0.2.8")},
		{"case 202 an unattached ListenerSet", []string{"--gateway-listener-sets"}, gw("name: edge, namespace: infra", "192.0.2.1", open) + set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), ""},
		{"case 202 a ListenerSet of another namespace", []string{"--gateway-listener-sets"}, letting("name: edge, namespace: infra", "from: Same") + set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), ""},
		{"case 202 a ListenerSet without Gateway", []string{"--gateway-listener-sets"}, set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), ""},
		{"case 202 a listener that isn't accepted", []string{"--gateway-listener-sets"}, letting("name: edge, namespace: infra", "from: All") + set("name: extra", open, "False") + route(shop, "shop.example.org", ofSet), ""},
		{"a selected ListenerSet", []string{"--gateway-listener-sets"}, namespace("default", "team: a") + letting("name: edge, namespace: infra", "from: Selector, selector: {matchLabels: {team: a}}") + set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), shopRecord},
		{"the name of the Gateway of a ListenerSet", []string{"--gateway-listener-sets", "--gateway-name=other"}, letting("name: edge, namespace: infra", "from: All") + set("name: extra", open, "True") + route(shop, "shop.example.org", ofSet), ""},
		{"the annotations of ListenerSets", []string{"--gateway-listener-sets", "--annotation-filter=a=b"}, letting("name: edge, namespace: infra", "from: All") + set("name: extra", open, "True") + route(shop+", annotations: {a: b}", "shop.example.org", ofSet), ""},
		{"routes of the namespace of a ListenerSet only", []string{"--gateway-listener-sets"}, letting("name: edge, namespace: infra", "from: All") + set("name: extra, namespace: infra", open, "True") + route(shop, "shop.example.org", ofSet+", namespace: infra"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, gateway.HTTPRoute(), test.manifests, test.flags...)
			got := strings.TrimPrefix(s.Records(), "default/shop\n")
			if test.want == "  error" {
				if !strings.HasPrefix(got, test.want) {
					t.Errorf("got\n%swant an error", got)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrderOfReading shows that routes are evaluated when their dependencies were read, in any order, and
// that nothing is reported before.
func TestOrderOfReading(t *testing.T) {
	t.Parallel()
	manifests := namespace("default", "team: a") + gw("name: edge", "192.0.2.1", in(open, "from: Selector, selector: {matchLabels: {team: a}}")) + route("name: shop", "shop.example.org", "name: edge")
	for _, late := range []string{"gateways", "namespaces", "httproutes"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			fixture := sourcetest.OpenWithout(t, gateway.HTTPRoute(), late, manifests)
			if got := fixture.Records(); got != "" {
				t.Errorf("before %s are read: got\n%s", late, got)
			}
			fixture.Changed()
			fixture.FillRest()
			if changed := fixture.Changed(); changed != "default/shop\n" {
				t.Errorf("these are evaluated again: %q", changed)
			}
			if diff := cmp.Diff("default/shop\n"+record("shop.example.org", "192.0.2.1"), fixture.Records()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
