package dns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestEscapeString(t *testing.T) {
	tests := map[string]string{
		"": "", "a b": "a b", `say "hi"`: `say \"hi\"`, `C:\dir`: `C:\\dir`,
		"ü": `\195\188`, "\x00\t\x7f": `\000\009\127`, "~": "~",
	}
	for text, want := range tests {
		if got := dns.EscapeString(text); got != want {
			t.Errorf("EscapeString(%q) = %s, want %s", text, got, want)
		}
		if got := dns.QuoteString(text); got != `"`+want+`"` {
			t.Errorf("QuoteString(%q) = %s", text, got)
		}
		if got, err := dns.UnescapeString(want); err != nil || got != text {
			t.Errorf("UnescapeString(%s) = %q, %v, want %q", want, got, err, text)
		}
	}
}

func TestUnescapeString(t *testing.T) {
	tests := map[string]struct{ want, err string }{
		`\a\065\"`: {want: `aA"`},
		`a\`:       {err: "nothing behind the last backslash"},
		`\25`:      {err: "must be followed by two more digits"},
		`\2x5`:     {err: "must be followed by two more digits"},
		`\256`:     {err: `\256 is more than a byte`},
	}
	for escaped, test := range tests {
		got, err := dns.UnescapeString(escaped)
		wantError(t, err, test.err)
		if got != test.want {
			t.Errorf("UnescapeString(%s) = %q, want %q", escaped, got, test.want)
		}
	}
}

func TestWords(t *testing.T) {
	tests := map[string]struct{ want, err string }{
		"":                        {},
		" \t ":                    {},
		"10 mail.example.org.":    {want: "10|mail.example.org."},
		"  a\t b ":                {want: "a|b"},
		`"a b" "c"`:               {want: `"a b"|"c"`},
		`"a\"b" c\ d`:             {want: `"a"b"|c d`},
		`1 2 "u" "" "!^.*$!x!" .`: {want: `1|2|"u"|""|"!^.*$!x!"|.`},
		`"`:                       {err: "has no closing quote"},
		`"a\"`:                    {err: "has no closing quote"},
		`"a""b"`:                  {err: `a blank must follow "a"`},
		`a"b"`:                    {err: "a blank must follow a"},
		`"a" \3`:                  {err: `"\\3": a backslash and a digit`},
	}
	for target, test := range tests {
		words, err := dns.Words(target)
		wantError(t, err, test.err)
		var got []string
		for _, w := range words {
			text := w.Text
			if w.Quoted {
				text = `"` + text + `"`
			}
			got = append(got, text)
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("Words(%s) = %s, want %s", target, got, test.want)
		}
	}
}

func TestSplitString(t *testing.T) {
	for size, want := range map[int][]int{0: {0}, 1: {1}, 255: {255}, 256: {255, 1}, 510: {255, 255}, 511: {255, 255, 1}} {
		text := strings.Repeat("0123456789", 60)[:size]
		parts := dns.SplitString(text)
		var sizes []int
		for _, p := range parts {
			sizes = append(sizes, len(p))
		}
		if !slices.Equal(sizes, want) || strings.Join(parts, "") != text {
			t.Errorf("SplitString of %d bytes returns parts of %v bytes, want %v, which are the text together", size, sizes, want)
		}
	}
}

// TestText shows that a target is split into character-strings of at most 255 bytes, and is the
// same target when it is listed.
func TestText(t *testing.T) {
	a := strings.Repeat("a", 255)
	for _, test := range []struct{ name, target, quoted, listed string }{
		{"plain", "v=spf1 -all", `"v=spf1 -all"`, `"v=spf1 -all"`},
		{"quoted", ` "a b"  "c" `, `"a b" "c"`, `"a b" "c"`},
		{"partly quoted", `"a" b`, `"\"a\" b"`, `"\"a\" b"`},
		{"empty string", `""`, `""`, `""`},
		{"nothing", "", `""`, `""`},
		{"escapes", `"\195\188\"\\"`, `"\195\188\"\\"`, `"\195\188\"\\"`},
		{"long", `"` + a + `bc"`, `"` + a + `" "bc"`, `"` + a + `bc"`},
		{"long and more", `"` + a + `bc" "d"`, `"` + a + `" "bc" "d"`, `"` + a + `bc" "d"`},
		{"full, and continued", `"` + a + `" "b"`, `"` + a + `" "b"`, `"` + a + `b"`},
	} {
		quoted := dns.QuoteText(test.target)
		texts, ok := dns.QuotedTexts(quoted)
		if listed := dns.TextTarget(texts); quoted != test.quoted || !ok || listed != test.listed {
			t.Errorf("%s: %s is written as %s and listed as %s, want %s and %s", test.name, test.target, quoted, listed, test.quoted, test.listed)
		}
	}
}
