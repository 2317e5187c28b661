package nearest

import "testing"

func TestOf(t *testing.T) {
	names := []string{"addr", "enable-ipv6", "enable-pprof", "log-level", "metrics-addr"}
	tests := map[string]string{
		"adr":              "addr",
		"address":          "addr",
		"met":              "metrics-addr",
		"log":              "log-level",
		"enable-ipv4":      "enable-ipv6",
		"enable_ipv6":      "enable-ipv6",
		"loglevel":         "log-level",
		"metrics-address":  "metrics-addr",
		"x":                "",
		"":                 "",
		"completely-other": "",
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if got, ok := Of(name, names); got != want || ok != (want != "") {
				t.Errorf("Of(%q) = %q, %v; want %q", name, got, ok, want)
			}
		})
	}
}

func TestEditDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{a: "", b: "", want: 0},
		{a: "", b: "abc", want: 3},
		{a: "abc", b: "", want: 3},
		{a: "abc", b: "abc", want: 0},
		{a: "abc", b: "abd", want: 1},
		{a: "kitten", b: "sitting", want: 3},
		{a: "flaw", b: "lawn", want: 2},
		{a: "nwo", b: "now", want: 1},
		{a: "destinatoin", b: "destination", want: 1},
	}
	for _, tt := range tests {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
