package inspect

import "testing"

// A DNS name may have any character that a zone can have, and doesn't name a Service then.
func TestTypedNames(t *testing.T) {
	never := func(string, string) bool { return false }
	for text, want := range map[string]string{
		"www.Example.org":          "www.example.org",
		"*.example.org":            "*.example.org",
		`a\.b.example.org`:         `a\.b.example.org`,
		`a\.b.svc`:                 `a\.b.svc`,
		"a$b.example.org":          "a$b.example.org",
		"b\u00fccher.example.org.": "xn--bcher-kva.example.org",
		"a,b":                      "a,b",
	} {
		if q, err := (Typed{HasService: never, Namespace: "shop"}).Parse(text); err != nil || q.Name != want {
			t.Errorf("%s: %+v, %v, want the name %s", text, q, err, want)
		}
	}
	for _, text := range []string{"a b.example.org", "a..example.org", "", "a\tb.example.org"} {
		if q, err := (Typed{HasService: never}).Parse(text); err == nil {
			t.Errorf("%q: %+v", text, q)
		}
	}
}
