package chart

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

const plainFile = "../../deploy/signpost.yaml"

var update = flag.Bool("update", false, "write deploy/signpost.yaml anew")

const plainHead = `# Signpost without Helm: what the chart makes of dev/chart/testdata/values/plain.yaml. docs/install.md
# says what to change. go test -C dev/chart -run TestPlainManifest -update writes this file.
apiVersion: v1
kind: Namespace
metadata:
  name: signpost
`

// The manifest for those without Helm is what the chart makes of a value file, in the order in
// which Helm installs it.
func TestPlainManifest(t *testing.T) {
	objects, err := render(t, valueFiles(t)["plain"], "signpost")
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]string{}
	for _, o := range objects {
		labels := o.GetLabels()
		for _, helms := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by"} {
			delete(labels, helms)
		}
		o.SetLabels(labels)
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		byKind[o.GetKind()] = append(byKind[o.GetKind()], string(text))
	}
	parts := []string{plainHead}
	for _, kind := range releaseutil.InstallOrder {
		slices.Sort(byKind[kind])
		parts = append(parts, byKind[kind]...)
		delete(byKind, kind)
	}
	if len(byKind) > 0 {
		t.Fatalf("Helm has no order for %v", slices.Collect(maps.Keys(byKind)))
	}
	want := strings.Join(parts, "---\n")
	if *update {
		if err := os.WriteFile(plainFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(plainFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale; run the test with -update. The chart makes\n%s", plainFile, want)
	}
}
