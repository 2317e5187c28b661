package tenancy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDecide(t *testing.T) {
	full := func(of ...string) func(string) bool {
		return func(namespace string) bool { return slices.Contains(of, namespace) }
	}
	tests := map[string]struct {
		policy Policy
		c      Case
		// want has the namespaces that get the name, and the refused ones with the reason.
		want string
	}{
		"shared":                           {Shared, Case{Asking: []string{"a", "b"}}, "a b"},
		"shared, held by another":          {Shared, Case{Asking: []string{"a", "b"}, Held: true, Holder: "c"}, "a b"},
		"shared, one is full":              {Shared, Case{Asking: []string{"a", "b"}, Full: full("a")}, "b a:TooManyNames"},
		"shared, full, adds to a name":     {Shared, Case{Asking: []string{"a"}, Held: true, Holder: "b", Full: full("a")}, "a"},
		"shared, full and held":            {Shared, Case{Asking: []string{"a"}, Held: true, Holder: "a", Full: full("a")}, "a"},
		"the first of several":             {Namespaced, Case{Asking: []string{"a", "b", ""}}, "a b:NameTaken :NameTaken"},
		"the holder, though not the first": {Namespaced, Case{Asking: []string{"a", "b"}, Held: true, Holder: "b"}, "b a:NameTaken"},
		"an object without a namespace":    {Namespaced, Case{Asking: []string{"a", ""}, Held: true, Holder: ""}, " a:NameTaken"},
		"a holder that asks no more":       {Namespaced, Case{Asking: []string{"a", "b"}, Held: true, Holder: "c"}, "a b:NameTaken"},
		"a holder that may ask":            {Namespaced, Case{Asking: []string{"a", "b"}, Held: true, Holder: "c", Keeps: true}, " a:NameTaken b:NameTaken"},
		"the first one is full":            {Namespaced, Case{Asking: []string{"a", "b"}, Full: full("a")}, "b a:TooManyNames"},
		"full, and has the name":           {Namespaced, Case{Asking: []string{"a"}, Held: true, Holder: "a", Full: full("a")}, "a"},
		"full, and would take it over":     {Namespaced, Case{Asking: []string{"a"}, Held: true, Holder: "b", Full: full("a")}, " a:TooManyNames"},
		"stands for a name of another":     {Namespaced, Case{Asking: []string{"a", "b"}, DependsOn: "x", DependsOnHolder: "b"}, "b a:NameTaken"},
		"had it before":                    {Namespaced, Case{Asking: []string{"a"}, Held: true, Holder: "a", DependsOn: "x", DependsOnHolder: "b"}, "a"},
		"stands for another, shared":       {Shared, Case{Asking: []string{"a"}, DependsOn: "x", DependsOnHolder: "b"}, "a"},
		"nobody":                           {Namespaced, Case{Held: true, Holder: "a"}, ""},
	}
	for name, test := range tests {
		d := Decide(test.policy, test.c)
		got := strings.Join(d.Granted, " ")
		for _, r := range d.Refused {
			got += " " + r.Namespace + ":" + string(r.Reason)
			if r.Message == "" {
				t.Errorf("%s: no message for %s", name, r.Namespace)
			}
		}
		if strings.TrimSpace(got) != strings.TrimSpace(test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Each namespace that asks is granted or refused, once. Under the policy namespace at most one is
// granted: the holder if it asks, in whatever order. Other requests change nothing for the holder.
func TestDecideForAny(t *testing.T) {
	namespaces := []string{"", "a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		asking := rapid.SliceOfDistinct(rapid.SampledFrom(namespaces), rapid.ID[string]).Draw(t, "asking")
		tooMany := rapid.SliceOf(rapid.SampledFrom(namespaces)).Draw(t, "full")
		c := Case{
			Asking: asking, Held: rapid.Bool().Draw(t, "held"), Holder: rapid.SampledFrom(namespaces).Draw(t, "holder"), Keeps: rapid.Bool().Draw(t, "keeps"),
			Full: func(namespace string) bool { return slices.Contains(tooMany, namespace) },
		}
		if rapid.Bool().Draw(t, "stands") {
			c.DependsOn, c.DependsOnHolder = "x", rapid.SampledFrom(namespaces).Draw(t, "reserved")
		}
		d := Decide(Namespaced, c)
		all := slices.Clone(d.Granted)
		for _, r := range d.Refused {
			all = append(all, r.Namespace)
		}
		slices.Sort(all)
		if sorted := slices.Sorted(slices.Values(asking)); !slices.Equal(all, sorted) {
			t.Fatalf("granted or refused are %q, %q ask", all, sorted)
		}
		if len(d.Granted) > 1 {
			t.Fatalf("%q get the name", d.Granted)
		}
		if asks := slices.Contains(asking, c.Holder); c.Held && asks && !slices.Equal(d.Granted, []string{c.Holder}) {
			t.Fatalf("%q get the name, %q has it", d.Granted, c.Holder)
		} else if c.Held && !asks && c.Keeps && len(d.Granted) > 0 {
			t.Fatalf("%q get the name, although %q may still ask", d.Granted, c.Holder)
		}
	})
}

func TestHolderOf(t *testing.T) {
	for label, want := range map[string]string{
		"service/shop/web": "shop true", "node/n1": " true", "": " false", "web": " false", "a/b/c/d": " false", "service//web": " false", "service/shop/": " false",
	} {
		namespace, known := HolderOf(label)
		got := namespace + " false"
		if known {
			got = namespace + " true"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}
