package gateway

import "testing"

// TestOverlap covers spec/dns.md §6.5.10.
func TestOverlap(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"", "", ""},
		{"", "a.example.org", "a.example.org"},
		{"a.example.org", "a.example.org", "a.example.org"},
		{"a.example.org", "b.example.org", ""},
		{"*.example.org", "a.example.org", "a.example.org"},
		{"*.example.org", "a.b.example.org", "a.b.example.org"},
		{"*.example.org", "example.org", ""},
		{"*.example.org", "aexample.org", ""},
		{"*.example.org", "*.example.org", "*.example.org"},
		{"*.example.org", "*.a.example.org", "*.a.example.org"},
		{"*.a.example.org", "*.b.example.org", ""},
		{"*.example.org", "", "*.example.org"},
	}
	for _, test := range tests {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			got, ok := overlap(pair[0], pair[1])
			if !ok {
				got = ""
			}
			if got != test.want || ok != (test.want != "") {
				t.Errorf("overlap(%q, %q) is %q, %v; want %q", pair[0], pair[1], got, ok, test.want)
			}
		}
	}
}

func TestPattern(t *testing.T) {
	for text, want := range map[string]string{
		"a.example.org": "a.example.org", "A.Example.org.": "a.example.org", "*.example.org": "*.example.org", "bücher.example.org": "xn--bcher-kva.example.org",
		"": "", "*": "", "*.": "", "a.*.example.org": "", "192.0.2.1": "", "*.192.0.2.1": "", "2001:db8::1": "", "a_b.example.org": "", "-a.example.org": "", "a b.example.org": "",
	} {
		got, ok := pattern(text)
		if ok != (want != "") || ok && got != want {
			t.Errorf("pattern(%q) is %q, %v; want %q", text, got, ok, want)
		}
	}
}

// FuzzPattern checks that both patterns cover their overlap, in either order.
func FuzzPattern(f *testing.F) {
	f.Add("*.example.org", "a.example.org")
	f.Add("Bücher.example.org.", "*.org")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, okA := pattern(a)
		b, okB := pattern(b)
		if !okA || !okB {
			return
		}
		if again, ok := pattern(a); !ok || again != a {
			t.Errorf("pattern(%q) is %q, %v", a, again, ok)
		}
		got, ok := overlap(a, b)
		back, okBack := overlap(b, a)
		if ok != okBack || ok && got != back {
			t.Errorf("overlap of %q and %q is %q, %v, and the other way round %q, %v", a, b, got, ok, back, okBack)
		}
		for _, of := range []string{a, b} {
			if ok && got != of && !covers(of, got) {
				t.Errorf("overlap of %q and %q is %q, which %q doesn't cover", a, b, got, of)
			}
		}
	})
}
