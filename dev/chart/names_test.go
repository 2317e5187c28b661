package chart

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// longPublishers are two publishers whose names differ at the end only.
const longPublishers = `
dns:
  publishers:
    - {name: publisher-of-the-zones-of-the-team-a, source: service, provider: inmemory, inmemory-zone: [example.org], policy: sync}
    - {name: publisher-of-the-zones-of-the-team-b, source: service, provider: inmemory, inmemory-zone: [example.net], policy: sync}
xds: {enabled: true, bootstrap: {namespaces: [default]}}
metrics: {serviceMonitor: {enabled: true}}
inspection: {tokens: true}
`

// Helm allows release names of 53 bytes. Whatever the names are, no two objects have the same one,
// and the API server accepts all of them.
func TestLongNames(t *testing.T) {
	cluster := kubetest.Start(t)
	for _, test := range []struct{ name, release, values string }{
		{"release", strings.Repeat("r", 53), everything},
		{"release that names the chart", "platform-services-signpost-production-europe-west-1-a", everything},
		{"publishers", strings.Repeat("r", 53), longPublishers},
		{"override", "signpost", "fullnameOverride: " + strings.Repeat("o", 80)},
	} {
		t.Run(test.name, func(t *testing.T) {
			values := map[string]any{}
			for _, text := range []string{everything, test.values} {
				if err := yaml.Unmarshal([]byte(text), &values); err != nil {
					t.Fatal(err)
				}
			}
			values["dns"].(map[string]any)["enabled"] = true
			namespace := restricted(t, cluster)
			objects, err := renderRelease(t, test.release, values, namespace)
			if err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{}
			for _, o := range objects {
				key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
				if known[key] {
					t.Errorf("%s is there twice", key)
				}
				known[key] = true
			}
			accepted(t, cluster, objects, namespace)
		})
	}
}
