package settings

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// publishing returns a config file with publishers, each of which has these fields.
func publishing(publishers ...string) string {
	text := "apiVersion: signpost.dev/v1alpha1\nkind: Config\ndns:\n  publishers:\n"
	for i, fields := range publishers {
		text += fmt.Sprintf("    - {name: p%d, txt-owner-id: p%[1]d, provider: log, policy: sync, %[2]s}\n", i, fields)
	}
	return text
}

// A process reads each kind in the namespaces of all its publishers together, and in all if one of them needs
// those. A kind that is read in all namespaces doesn't widen others (dns F2).
func TestNamespacesOf(t *testing.T) {
	const all = "*"
	tests := map[string]struct {
		file string
		// want has the namespaces of some kinds, as RESOURCE.GROUP=NAMES.
		want []string
	}{
		"none given":               {publishing("source: service"), []string{"services=*"}},
		"empty":                    {publishing(`source: service, namespace: ""`), []string{"services=*"}},
		"one":                      {publishing("source: service, namespace: shop"), []string{"services=shop", "pods=shop", "nodes=*"}},
		"a list":                   {publishing("source: service, namespace: [shop, pay]"), []string{"services=shop,pay"}},
		"with commas":              {publishing(`source: service, namespace: "shop,pay"`), []string{"services=shop,pay"}},
		"the same twice":           {publishing("source: service, namespace: shop", "source: ingress, namespace: shop"), []string{"services=shop", "ingresses.networking.k8s.io=shop"}},
		"two publishers":           {publishing("source: service, namespace: [shop, pay]", "source: service, namespace: [pay, team]"), []string{"services=pay,shop,team"}},
		"kinds of two publishers":  {publishing("source: service, namespace: [shop, pay]", "source: ingress, namespace: team"), []string{"services=shop,pay", "ingresses.networking.k8s.io=team"}},
		"one reads all":            {publishing("source: service, namespace: shop", "source: service"), []string{"services=*"}},
		"one reads all of another": {publishing("source: service, namespace: shop", "source: ingress"), []string{"services=shop", "ingresses.networking.k8s.io=*"}},
		"one reads no objects":     {publishing("source: service, namespace: shop", "source: fake"), []string{"services=shop"}},
		"Nodes beside others":      {publishing("source: [pod, node], namespace: shop"), []string{"pods=shop", "nodes=*"}},
		"Services of Istio":        {publishing("source: [service, istio-gateway], namespace: shop"), []string{"services=*", "pods=shop", "gateways.networking.istio.io=shop"}},
		"Contour's Service":        {publishing("source: contour-ingressroute, namespace: [shop, pay]"), []string{"services=*", "ingressroutes.contour.heptio.com=shop,pay"}},
		"Gateways anywhere":        {publishing("source: [service, gateway-httproute], namespace: shop"), []string{"services=shop", "httproutes.gateway.networking.k8s.io=shop", "gateways.gateway.networking.k8s.io=*"}},
		"Gateways of a namespace": {
			publishing("source: [service, gateway-httproute], namespace: shop, gateway-namespace: edge"),
			[]string{"services=shop", "httproutes.gateway.networking.k8s.io=shop", "gateways.gateway.networking.k8s.io=edge", "namespaces=*"},
		},
		"Gateways of two namespaces": {
			publishing("source: gateway-httproute, namespace: shop, gateway-namespace: edge", "source: gateway-grpcroute, gateway-namespace: inner"),
			[]string{"httproutes.gateway.networking.k8s.io=shop", "grpcroutes.gateway.networking.k8s.io=*", "gateways.gateway.networking.k8s.io=edge,inner"},
		},
		"beside another role":      {publishing("source: service, namespace: shop") + "destination: {}\n", []string{"services=*"}},
		"beside the controllers":   {publishing("source: service, namespace: shop") + "controllers: {}\n", []string{"services=*"}},
		"a hundred of one":         {publishing("source: service, namespace: [" + teams(0, 100) + "]"), []string{"services=" + teams(0, 100)}},
		"more, but one reads all":  {publishing("source: service, namespace: ["+teams(0, 60)+"]", "source: service, namespace: ["+teams(60, 120)+"]", "source: service"), []string{"services=*"}},
		"more, but of other kinds": {publishing("source: service, namespace: ["+teams(0, 60)+"]", "source: ingress, namespace: ["+teams(60, 120)+"]"), []string{"services=" + teams(0, 60)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Decode("config.yaml", []byte(tt.file), References{})
			if err != nil {
				t.Fatal(err)
			}
			of := c.NamespacesOf()
			for _, want := range tt.want {
				resource, names, _ := strings.Cut(want, "=")
				got := strings.Join(of[schema.ParseGroupResource(resource)], ",")
				if got == "" {
					got = all
				}
				if got != names {
					t.Errorf("%s in %s, want %s", resource, got, names)
				}
			}
		})
	}
}

// teams returns the names of namespaces with commas between them.
func teams(from, to int) string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprint("team-", i))
	}
	return strings.Join(names, ",")
}

func TestNamespacesAreRefused(t *testing.T) {
	for want, file := range map[string]string{
		`config.yaml:5: dns.publishers[0].namespace: namespace "Shop": no namespace has such a name`:       publishing("source: service, namespace: [pay, Shop]"),
		`config.yaml:5: dns.publishers: name 120 namespaces together: name at most 100`:                    publishing("source: service, namespace: ["+teams(0, 60)+"]", "source: service, namespace: ["+teams(60, 120)+"]"),
		`config.yaml:5: dns.publishers[0].namespace: 101 names; name at most 100`:                          publishing("source: service, namespace: [" + teams(0, 101) + "]"),
		`config.yaml:5: dns.publishers[0].namespace: one of several names is empty`:                        publishing(`source: service, namespace: [shop, ""]`),
		`config.yaml:5: dns.publishers[0].namespace: must be a string or a list of strings, not a mapping`: publishing("source: service, namespace: {a: b}"),
	} {
		if _, err := Decode("config.yaml", []byte(file), References{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
