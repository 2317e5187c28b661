package dns_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

func TestSameTargets(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("2001:db8::%x", i+1)
	}
	respelt := slices.Clone(many)
	slices.Reverse(respelt)
	respelt[3] = "2001:0DB8:0::25"
	other := slices.Clone(respelt)
	other[0] = "2001:db8::ffff"
	tests := map[string]struct {
		a, b []string
		want bool
	}{
		"none":                              {want: true},
		"case 120: spelling":                {a: []string{"::1"}, b: []string{"::0001"}, want: true},
		"case 120: order":                   {a: []string{"8.8.8.8", "8.8.4.4"}, b: []string{"8.8.4.4", "8.8.8.8"}, want: true},
		"case 120: lengths":                 {a: []string{"8.8.8.8", "8.8.4.4"}, b: []string{"8.8.8.8"}},
		"upper case":                        {a: []string{"A.org", "b.org"}, b: []string{"B.org", "a.org"}, want: true},
		"other":                             {a: []string{"a.org"}, b: []string{"b.org"}},
		"address and name":                  {a: []string{"::1"}, b: []string{"a:b"}},
		"number of each":                    {a: []string{"a", "a", "b"}, b: []string{"a", "b", "b"}},
		"§17: after another spelling":       {a: []string{"2001:db8:0:0::1", "2001:db8::2"}, b: []string{"2001:db8::1", "2001:db8::3"}},
		"§17: another spelling and order":   {a: []string{"2001:db8:0:0::1", "2001:db8::2"}, b: []string{"2001:db8::2", "2001:db8::1"}, want: true},
		"many":                              {a: many, b: respelt, want: true},
		"one of many":                       {a: many, b: other},
		"IPv4 in IPv6 is something else":    {a: []string{"1.2.3.4"}, b: []string{"::ffff:1.2.3.4"}},
		"upper case in one of two spelling": {a: []string{"2001:DB8::A", "x"}, b: []string{"X", "2001:db8:0::a"}, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := slices.Clone(test.a), slices.Clone(test.b)
			if got := dns.SameTargets(a, b); got != test.want {
				t.Errorf("got %v", got)
			}
			if got := dns.SameTargets(b, a); got != test.want {
				t.Errorf("the other way round: got %v", got)
			}
			if !slices.Equal(a, test.a) || !slices.Equal(b, test.b) {
				t.Error("the arguments were changed")
			}
		})
	}
}

func TestLess(t *testing.T) {
	// Case 121, and consequences of its rules.
	tests := []struct {
		a, b []string
		want bool
	}{
		{a: []string{"1.2.3.4"}, b: []string{"1-2-3-4.example.org"}, want: true},
		{a: []string{"1.2.3.4"}, b: []string{"1.2.3.5"}, want: true},
		{a: []string{"a"}, b: []string{"a", "b"}, want: true},
		{a: []string{"a", "b"}, b: []string{"b", "a"}},
		{a: []string{"1.2.3.4"}, b: []string{"1.2.3.4"}},
		{a: []string{"::1"}, b: []string{"::0001"}},
		{a: []string{"9.0.0.1"}, b: []string{"10.0.0.1"}, want: true},
		{a: []string{"255.0.0.1"}, b: []string{"::1"}, want: true},
		{a: []string{"b", "a"}, b: []string{"a", "c"}, want: true},
		{a: nil, b: []string{"a"}, want: true},
		{},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.a, test.b), func(t *testing.T) {
			a, b := slices.Clone(test.a), slices.Clone(test.b)
			if got := dns.Less(a, b); got != test.want {
				t.Errorf("got %v", got)
			}
			if test.want && dns.Less(b, a) {
				t.Error("so is the other way round")
			}
			if !slices.Equal(a, test.a) || !slices.Equal(b, test.b) {
				t.Error("the arguments were changed")
			}
		})
	}
}

// respelling draws another spelling of a target.
func respelling(t *rapid.T, target string) string {
	if rapid.Bool().Draw(t, "upper") {
		target = strings.ToUpper(target)
	}
	if rapid.Bool().Draw(t, "zeros") {
		target = strings.Replace(target, "::", ":0::", 1)
	}
	return target
}

// Lists of targets are equal in any order and spelling, and differ if one target differs. Of two
// different lists, exactly one is less than the other.
func TestTargetsProperty(t *testing.T) {
	target := rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.10", "9.9.9.9", "2001:db8::1", "2001:db8::a", "a.org", "b.org"})
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(target, 0, 24).Draw(t, "a")
		b := rapid.Permutation(a).Draw(t, "b")
		for i := range b {
			b[i] = respelling(t, b[i])
		}
		if !dns.SameTargets(a, b) {
			t.Fatalf("%q and %q are the same", a, b)
		}
		if len(a) == 0 {
			return
		}
		i := rapid.IntRange(0, len(b)-1).Draw(t, "i")
		b[i] = "another.org"
		if dns.SameTargets(a, b) {
			t.Fatalf("%q and %q are not the same", a, b)
		}
		if dns.Less(a, b) == dns.Less(b, a) {
			t.Fatalf("one of %q and %q must be less", a, b)
		}
	})
}

func TestUniqueSorted(t *testing.T) {
	tests := map[string]struct{ in, want []string }{
		"none":   {},
		"one":    {in: []string{"b"}, want: []string{"b"}},
		"sorted": {in: []string{"a", "b"}, want: []string{"a", "b"}},
		"not":    {in: []string{"b", "a", "b"}, want: []string{"a", "b"}},
		"twice":  {in: []string{"a", "a"}, want: []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := slices.Clone(test.in)
			if got := dns.UniqueSorted(in); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !slices.Equal(in, test.in) {
				t.Errorf("the argument was changed to %q", in)
			}
		})
	}
}
