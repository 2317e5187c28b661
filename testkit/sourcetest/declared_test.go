package sourcetest_test

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// A source of objects says which annotations it reads, and has an example of them.
func TestUndocumented(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, dir, want string
		change          func(*source.Plugin)
	}{
		{"an example", "testdata", "", func(*source.Plugin) {}},
		{"no example", t.TempDir(), "no example", func(*source.Plugin) {}},
		{"annotations without a meaning", t.TempDir(), "", func(p *source.Plugin) { p.Annotations = source.NoAnnotations }},
		{"nothing said", "testdata", "set Annotations", func(p *source.Plugin) { p.Annotations = nil }},
		{"nothing said of kinds that flags name", "testdata", "set Annotations", func(p *source.Plugin) {
			*p = source.Plugin{Name: "flags", Reads: "what flags name", New: func() source.Config { return lottery{} }}
		}},
		{"no objects", t.TempDir(), "", func(p *source.Plugin) {
			*p = source.Plugin{Name: "none", New: func() source.Config { return lottery{} }}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plugin := (&toy{}).plugin()
			test.change(&plugin)
			err := sourcetest.Undocumented(plugin, test.dir)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// A source declares the kinds that its tables have, and no others.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	own := &toy{}
	s, err := own.Open(source.Input{})
	if err != nil {
		t.Fatal(err)
	}
	resources := own.Resources()
	if err := sourcetest.Undeclared(s, resources); err != nil {
		t.Error(err)
	}
	if err := sourcetest.Undeclared(s, resources[:1]); err == nil || !strings.Contains(err.Error(), "reads [services], which aren't") {
		t.Errorf("got %v, want an error about a kind that isn't declared", err)
	}
	if err := sourcetest.Undeclared(s, append(resources, source.Resource{Plural: "pods"})); err == nil || !strings.Contains(err.Error(), "doesn't read [pods]") {
		t.Errorf("got %v, want an error about a kind that isn't read", err)
	}
}
