package manifest

import (
	"io"
	"strings"
	"testing"
)

// Manifests of exactly the limit are decoded. With one more byte they are an error, also a stream without an
// end.
func TestDecodeAtMost(t *testing.T) {
	const object = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n"
	text := strings.Repeat(object+"---\n", 3)
	if objects, err := DecodeAtMost(strings.NewReader(text), len(text)); err != nil || len(objects) != 3 {
		t.Errorf("at the limit: %d objects, %v", len(objects), err)
	}
	for name, manifests := range map[string]io.Reader{
		"one byte more": strings.NewReader(text), "no end": endless(text), "one long line": endless("x"), "comments": endless("# none\n"),
	} {
		objects, err := DecodeAtMost(manifests, len(text)-1)
		if err == nil || objects != nil || !strings.Contains(err.Error(), "there are more than") {
			t.Errorf("%s: %d objects, %v", name, len(objects), err)
		}
	}
}

// endless is a reader that repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

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

// Errors of documents are in the words of YAML and of manifests, not of Go.
func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a: b: c":   "document 1 is not YAML: mapping values are not allowed in this context",
		"just text": "document 1 is no manifest: it must be a mapping with apiVersion and kind",
		"- a list":  "document 1 is no manifest: it must be a mapping with apiVersion and kind",
		"kind: A\n": "document 1 has no kind or no apiVersion; set both",
	} {
		if _, err := Decode(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
