package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// publishing returns a config file with publishers, each of which has these fields.
func publishing(publishers ...string) string {
	text := "apiVersion: signpost.dev/v1alpha1\nkind: Config\ndns:\n  publishers:\n"
	for i, fields := range publishers {
		text += fmt.Sprintf("    - {name: p%d, txt-owner-id: p%[1]d, provider: log, policy: sync, %[2]s}\n", i, fields)
	}
	return text
}

// A process reads the namespaces of all its publishers together, and all namespaces if one of
// them needs those.
func TestOnlyNamespaces(t *testing.T) {
	tests := map[string]struct {
		file string
		want []string
	}{
		"none given":                {file: publishing("source: service")},
		"empty":                     {file: publishing(`source: service, namespace: ""`)},
		"one":                       {file: publishing("source: service, namespace: shop"), want: []string{"shop"}},
		"a list":                    {file: publishing("source: service, namespace: [shop, pay]"), want: []string{"shop", "pay"}},
		"with commas":               {file: publishing(`source: service, namespace: "shop,pay"`), want: []string{"shop", "pay"}},
		"the same twice":            {file: publishing("source: service, namespace: shop", "source: ingress, namespace: shop"), want: []string{"shop"}},
		"two publishers":            {file: publishing("source: service, namespace: [shop, pay]", "source: ingress, namespace: [pay, team]"), want: []string{"shop", "pay", "team"}},
		"one reads all":             {file: publishing("source: service, namespace: shop", "source: ingress")},
		"one reads no objects":      {file: publishing("source: service, namespace: shop", "source: fake"), want: []string{"shop"}},
		"one reads Nodes only":      {file: publishing("source: service, namespace: shop", "source: node"), want: []string{"shop"}},
		"Nodes beside others":       {file: publishing("source: [pod, node], namespace: shop"), want: []string{"shop"}},
		"Gateways of other spaces":  {file: publishing("source: [service, istio-gateway], namespace: shop")},
		"Contour's Service":         {file: publishing("source: contour-ingressroute, namespace: [shop, pay]")},
		"beside another role":       {file: publishing("source: service, namespace: shop") + "destination: {}\n"},
		"beside the controllers":    {file: publishing("source: service, namespace: shop") + "controllers: {}\n"},
		"a hundred of one":          {file: publishing("source: service, namespace: [" + teams(0, 100) + "]"), want: strings.Split(teams(0, 100), ",")},
		"a hundred of two":          {file: publishing("source: service, namespace: ["+teams(0, 60)+"]", "source: service, namespace: ["+teams(50, 100)+"]"), want: strings.Split(teams(0, 100), ",")},
		"more, but one reads all":   {file: publishing("source: service, namespace: ["+teams(0, 60)+"]", "source: service, namespace: ["+teams(60, 120)+"]", "source: pod")},
		"more, but Gateways are it": {file: publishing("source: service, namespace: ["+teams(0, 60)+"]", "source: istio-gateway, namespace: ["+teams(60, 120)+"]")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Decode("config.yaml", []byte(tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, c.OnlyNamespaces()); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
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
		if _, err := Decode("config.yaml", []byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
