package istiovirtualservice_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source/istiovirtualservice"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, istiovirtualservice.Plugin()) }

// The API server has the definitions of Istio itself.
func TestRealAPIServer(t *testing.T) {
	sourcetest.ApplyDefinitions(t,
		filepath.Join(sourcetest.ModuleDir(t, "../../../dev/istioapi", "istio.io/api"), "kubernetes", "customresourcedefinitions.gen.yaml"),
		"gateways.networking.istio.io", "virtualservices.networking.istio.io")
	sourcetest.RunReal(t, istiovirtualservice.Plugin(), "lifecycle")
}

// object returns an object in YAML; its parts are in one line each.
func object(kind, metadata, spec string) string {
	return fmt.Sprintf("---\napiVersion: networking.istio.io/v1\nkind: %s\nmetadata: {%s}\nspec: {%s}\n", kind, metadata, spec)
}

func virtualService(name, spec string) string { return object("VirtualService", "name: "+name, spec) }
func gateway(name, spec string) string        { return object("Gateway", "name: "+name, spec) }

func service(name, selector, address string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {%s}, externalIPs: [\"%s\"], ports: [{port: 80}]}\n", name, selector, address)
}

// TestWaits shows that a VirtualService has no problem at the start, before its Gateway or the Gateway's
// Ingress was read.
func TestWaits(t *testing.T) {
	objects := virtualService("shop", "hosts: [shop.example.org], gateways: [edge]") +
		object("Gateway", "name: edge, annotations: {external-dns.kubernetes.io/ingress: front}", `servers: [{hosts: ["*"]}]`)
	for resource, kind := range map[string]string{"gateways": "istiogateway", "ingresses": "ingress"} {
		sourcetest.Waits(t, istiovirtualservice.Plugin(), resource, objects, "default/shop", kind, "there is no Ingress default/front")
	}
}

// TestCostOfEvents shows that the cost of an event depends only on the affected objects: two VirtualServices
// are evaluated again among few others and among many.
func TestCostOfEvents(t *testing.T) {
	for _, others := range []int{3, 300} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			var objects strings.Builder
			for i := range others {
				objects.WriteString(virtualService(fmt.Sprint("other-", i), fmt.Sprintf("hosts: [o%d.example.org], gateways: [other-%d, elsewhere/edge]", i, i)))
				objects.WriteString(gateway(fmt.Sprint("other-", i), fmt.Sprintf(`selector: {istio: o%d}, servers: [{hosts: ["*"]}]`, i)))
				objects.WriteString(service(fmt.Sprint("other-", i), fmt.Sprintf("istio: o%d", i), "192.0.2.9"))
			}
			objects.WriteString(virtualService("a", "hosts: [a.example.org], gateways: [edge]"))
			objects.WriteString(virtualService("b", "hosts: [b.example.org], gateways: [other-0, edge]"))
			fixture := sourcetest.MustOpen(t, istiovirtualservice.Plugin(), objects.String())
			fixture.Changed()
			for _, event := range []struct{ name, objects string }{
				{"a Gateway", gateway("edge", `selector: {istio: edge}, servers: [{hosts: ["*"]}]`)},
				{"a Service", service("edge", "istio: edge", "192.0.2.1")},
				{"another address", service("edge", "istio: edge", "192.0.2.2")},
				{"a Gateway that names an Ingress", object("Gateway", "name: edge, annotations: {external-dns.kubernetes.io/ingress: front}", `servers: [{hosts: ["*"]}]`)},
				{"an Ingress", "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: front}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.3}]}}\n"},
			} {
				fixture.Apply(event.objects)
				if got := fixture.Changed(); got != "default/a\ndefault/b\n" {
					t.Errorf("%s has these evaluated again: %q", event.name, got)
				}
			}
			fixture.Apply(service("edge", "istio: edge", "192.0.2.4"))
			if got := fixture.Changed(); got != "" {
				t.Errorf("a Service that no Gateway needs any more has these evaluated again: %q", got)
			}
		})
	}
}
