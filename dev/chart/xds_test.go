package chart

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/xds/bootstrap"
)

// The ConfigMaps of the chart have what signpost xds bootstrap prints.
func TestXDSBootstrap(t *testing.T) {
	for name, tt := range map[string]struct {
		secret string
		values map[string]any
		files  bootstrap.Files
	}{
		"without TLS":  {},
		"with TLS":     {"tls", map[string]any{"ca": "/xds/ca.crt"}, bootstrap.Files{CA: "/xds/ca.crt"}},
		"with a token": {"tls", map[string]any{"ca": "/xds/ca.crt", "token": "/xds/token"}, bootstrap.Files{CA: "/xds/ca.crt", Token: "/xds/token"}},
		"with all of it": {
			"tls",
			map[string]any{"ca": "/ca", "cert": "/cert", "key": "/key", "token": "/token"},
			bootstrap.Files{CA: "/ca", Cert: "/cert", Key: "/key", Token: "/token"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{"namespaces": []any{"shop"}}
			for k, v := range tt.values {
				values[k] = v
			}
			objects, err := render(t, map[string]any{"xds": map[string]any{"enabled": true, "tlsSecret": tt.secret, "bootstrap": values}}, "infra")
			if err != nil {
				t.Fatal(err)
			}
			file, err := bootstrap.Options{Server: "dns:///signpost-xds.infra.svc:8087", Files: tt.files}.File()
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			got := find[corev1.ConfigMap](t, objects, "ConfigMap", "signpost-xds-bootstrap")
			if got.Namespace != "shop" {
				t.Errorf("it is in the namespace %s", got.Namespace)
			}
			if diff := cmp.Diff(decoded(t, string(want)), decoded(t, got.Data["bootstrap.json"])); diff != "" {
				t.Errorf("(-command +chart):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
