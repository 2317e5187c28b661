package houserules

import (
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const why = " takes a bool: write two functions, or name each choice"
	for _, test := range []struct {
		name, source string
		want         string // the only complaint, without its end; "" for none
	}{
		{"function", "func Put(name string, content bool) {}", "a.go:3:23: Put"},
		{"among others of one type", "func Put(a, b bool) {}", "a.go:3:10: Put"},
		{"without a name", "func Put(string, bool) {}", "a.go:3:18: Put"},
		{"any number", "func Put(all ...bool) {}", "a.go:3:10: Put"},
		{"generic function", "func Put[T any](value T, content bool) {}", "a.go:3:26: Put"},
		{"method", "type Index struct{}\nfunc (Index) Put(bool) {}", "a.go:4:18: Index.Put"},
		{"method of a pointer", "type Index struct{}\nfunc (x *Index) Put(bool) {}", "a.go:4:21: Index.Put"},
		{"method of a generic type", "type Index[W any] struct{}\nfunc (x *Index[W]) Put(bool) {}", "a.go:4:24: Index.Put"},
		{"method of a type with two parameters", "type Index[K, W any] struct{}\nfunc (x Index[K, W]) Put(bool) {}", "a.go:4:26: Index.Put"},
		{"method of an interface", "type Sink interface {\n\tPut(content bool)\n}", "a.go:4:6: Sink.Put"},
		{"in a group of types", "type (\n\tSink interface{ Put(bool) }\n)", "a.go:4:22: Sink.Put"},

		{"unexported function", "func put(ready bool) {}", ""},
		{"unexported method", "type Index struct{}\nfunc (Index) put(ready bool) {}", ""},
		{"method of an unexported type", "type index struct{}\nfunc (index) Put(ready bool) {}", ""},
		{"unexported interface", "type sink interface{ Put(bool) }", ""},
		{"unexported method of an interface", "type Sink interface{ put(bool) }", ""},
		{"embedded interface", "type Sink interface{ error }", ""},
		{"result", "func Has(name string) bool { return true }", ""},
		{"function parameter", "func Find(is func(string) bool) {}", ""},
		{"pointer", "func Put(content *bool) {}", ""},
		{"list", "func Put(content []bool) {}", ""},
		{"field", "type Options struct{ Content bool }", ""},
		{"no parameters", "func Put() {}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken, err := Check("a.go", "package a\n\n"+test.source+"\n")
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if test.want != "" {
				want = []string{test.want + why}
			}
			if !slices.Equal(broken, want) {
				t.Errorf("got %q, want %q", broken, want)
			}
		})
	}
}

func TestCheckWhatIsNoGo(t *testing.T) {
	if _, err := Check("a.go", "no package"); err == nil || !strings.Contains(err.Error(), "parse a Go file: a.go:1:1") {
		t.Errorf("got the error %v, want one about a.go:1:1", err)
	}
}
