package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// tenants S10: the inspection API has a port of its own. Other pods reach it only if the values say so
// twice, and the port of the metrics doesn't have it.
func TestInspectionPort(t *testing.T) {
	peers := []any{map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "monitoring"}}}}
	for name, test := range map[string]struct {
		inspection, policy map[string]any
		address            string
		open               bool
	}{
		"by default":       {nil, nil, `"127.0.0.1:9997"`, false},
		"only in the pod":  {nil, map[string]any{"metricsFrom": peers}, `"127.0.0.1:9997"`, false},
		"for nobody":       {map[string]any{"listen": "all"}, map[string]any{"metricsFrom": peers}, `:9997`, false},
		"for some":         {map[string]any{"listen": "all"}, map[string]any{"inspectFrom": peers}, `:9997`, true},
		"at another port":  {map[string]any{"port": 7000, "trustLoopback": false}, nil, `"127.0.0.1:7000"`, false},
		"without a policy": {map[string]any{"listen": "all"}, map[string]any{"enabled": false}, `:9997`, false},
	} {
		t.Run(name, func(t *testing.T) {
			policy := map[string]any{"enabled": true}
			for k, v := range test.policy {
				policy[k] = v
			}
			values := map[string]any{"controllers": map[string]any{"enabled": true}, "networkPolicy": policy}
			if test.inspection != nil {
				values["inspection"] = test.inspection
			}
			objects, err := render(t, values, "signpost")
			if err != nil {
				t.Fatal(err)
			}
			config := find[corev1.ConfigMap](t, objects, "ConfigMap", "signpost").Data["signpost.yaml"]
			if unquoted := strings.ReplaceAll(config, `"`, ""); !strings.Contains(unquoted, "inspection:\n  address: "+strings.ReplaceAll(test.address, `"`, "")+"\n") {
				t.Errorf("the config file has no %s:\n%s", test.address, config)
			}
			if policy["enabled"] == false {
				return
			}
			var ports []string
			for _, rule := range find[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy", "signpost").Spec.Ingress {
				for _, p := range rule.Ports {
					if p.Port == nil {
						t.Fatal("a rule opens all ports")
					}
					ports = append(ports, p.Port.String())
					if p.Port.String() == "inspect" && len(rule.From) == 0 {
						t.Error("the port is open to everybody")
					}
				}
			}
			if slices.Contains(ports, "inspect") != test.open {
				t.Errorf("the ports %q are open", ports)
			}
		})
	}
	objects, err := render(t, map[string]any{"controllers": map[string]any{"enabled": true}, "hostNetwork": true}, "signpost")
	if err != nil {
		t.Fatal(err)
	}
	if config := find[corev1.ConfigMap](t, objects, "ConfigMap", "signpost").Data["signpost.yaml"]; !strings.Contains(config, "trustLoopback: false") {
		t.Errorf("processes of the node need no token:\n%s", config)
	}
	if _, err := render(t, map[string]any{"controllers": map[string]any{"enabled": true}, "inspection": map[string]any{"port": 9996}}, "signpost"); err == nil || !strings.Contains(err.Error(), "inspection.port") {
		t.Errorf("two servers on one port: %v", err)
	}
}
