package chart

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// observe has the files that the chart has copies of.
const observe = "../../deploy/observe"

// What the chart makes of alerts and dashboards has every rule and panel as it is in deploy/observe: no
// template of Prometheus or Grafana is taken for one of Helm.
func TestObserved(t *testing.T) {
	objects, err := render(t, valueFiles(t)["observed"], "monitoring")
	if err != nil {
		t.Fatal(err)
	}
	var rules []*unstructured.Unstructured
	dashboards := map[string]string{}
	for _, o := range objects {
		switch {
		case o.GetKind() == "PrometheusRule":
			rules = append(rules, o)
		case o.GetKind() == "ConfigMap" && o.GetLabels()["grafana_dashboard"] == "1":
			data, _, err := unstructured.NestedStringMap(o.Object, "data")
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range data {
				dashboards[name] = text
			}
		}
	}
	if len(rules) != 1 || rules[0].GetLabels()["release"] != "prometheus" {
		t.Fatalf("there are %d objects of kind PrometheusRule, want one with the label: %v", len(rules), rules)
	}
	var alerts map[string]any
	if err := yaml.Unmarshal([]byte(file(t, "alerts.yaml")), &alerts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(alerts, rules[0].Object["spec"]); diff != "" {
		t.Errorf("the rules (-file +chart):\n%s", diff)
	}
	want := map[string]string{}
	for _, name := range []string{"destination", "controllers", "dns"} {
		want["signpost-"+name+".json"] = file(t, "dashboards/"+name+".json")
	}
	for name, text := range want {
		if !sameJSON(t, text, dashboards[name]) {
			t.Errorf("%s is not the file:\n%s", name, cmp.Diff(text, dashboards[name]))
		}
	}
	if len(dashboards) != len(want) {
		t.Errorf("there are %d dashboards, want %d", len(dashboards), len(want))
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(observe, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		if err := yaml.Unmarshal([]byte(text), &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	return cmp.Equal(values[0], values[1])
}
