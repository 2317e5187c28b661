package manifest

import (
	"strings"
	"testing"
)

func TestDecodeRejects(t *testing.T) {
	for name, manifests := range map[string]string{
		"no kind":  "metadata: {name: x}",
		"no YAML":  "a: [",
		"a scalar": "hello",
	} {
		if objects, err := Decode(strings.NewReader(manifests)); err == nil {
			t.Errorf("%s: decoded %v", name, objects)
		}
	}
}
