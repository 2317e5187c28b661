package sourcetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// ModuleDir returns the directory of a module, in the version that the go.mod in the directory pin
// requires. CRDs of other projects are read from there, so that they are never copies.
func ModuleDir(t testing.TB, pin, module string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-C", filepath.FromSlash(pin), "-json", module).Output()
	if err != nil {
		t.Fatalf("find the module %s in the version of %s: %v", module, pin, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	return found.Dir
}

// ApplyDefinitions applies some of the CustomResourceDefinitions in a file to the cluster of the
// tests. The names are such as "gateways.networking.istio.io".
func ApplyDefinitions(t testing.TB, file string, names ...string) {
	t.Helper()
	cluster := kubetest.Start(t)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, document := range bytes.Split(content, []byte("\n---")) {
		var definition struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(document, &definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		i := slices.Index(names, definition.Metadata.Name)
		if i < 0 {
			continue
		}
		names = slices.Delete(slices.Clone(names), i, i+1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", len(names))), document, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) > 0 {
		t.Fatalf("%s has no definitions of %q", file, names)
	}
	cluster.ApplyCRDs(t, dir)
}
