package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	long := strings.Repeat("a", maxText)
	for text, want := range map[string]string{
		"":                    `""`,
		"web.ns:80":           `"web.ns:80"`,
		"a\nlevel=error \x1b": `"a\nlevel=error \x1b"`,
		long:                  `"` + long + `"`,
		long + "b":            `"` + long + `"… (161 bytes)`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("Quote(%q) is %s, want %s", text, got, want)
		}
	}
}

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"web":                          "web",
		"A-b_c.9":                      "A-b_c.9",
		"":                             `""`,
		"a b":                          `"a b"`,
		"a\n":                          `"a\n"`,
		"é":                            `"é"`,
		strings.Repeat("a", 2*maxText): `"` + strings.Repeat("a", maxText) + `"… (320 bytes)`,
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) is %s, want %s", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("ä", maxText/2)
	for text, want := range map[string]string{
		"":           "",
		"a \"b\"\nc": "a \"b\"\nc",
		long:         long,
		long + "b":   long + "… (161 bytes)",
		"a" + long:   "a" + strings.Repeat("ä", maxText/2-1) + "… (161 bytes)",
		"x" + "\xff": "x\xff",
	} {
		if got := Cut(text); got != want {
			t.Errorf("Cut(%q) is %q, want %q", text, got, want)
		}
	}
	if got := CutTo("abcdef", 3); got != "abc… (6 bytes)" {
		t.Error(got)
	}
}

// Any text of a client is shown as one short line of valid text.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"dial 127.0.0.1: é":            "dial 127.0.0.1: é",
		"a\nb\x1b[1mc\xff":             "a b [1mc",
		strings.Repeat("a", 2*maxLine): strings.Repeat("a", maxLine) + "…",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) is %q, want %q", text, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("web.ns.svc.cluster.local:80")
	f.Add(strings.Repeat("\xff\n", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Quote(text), Name(text)} {
			if len(got) > 10*maxText || strings.ContainsAny(got, "\n\r\x1b") || !utf8.ValidString(got) {
				t.Errorf("%q", got)
			}
		}
	})
}

// A long text is truncated to a limit in bytes, and stays valid UTF-8.
func TestShorten(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 1000), "x" + strings.Repeat("é", 1000), strings.Repeat("x", 257)} {
		got := Shorten(text, 256)
		if len(got) > 256 || len(got) < 250 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes became %d: %q", len(text), len(got), got)
		}
	}
	if text := strings.Repeat("x", 256); Shorten(text, 256) != text {
		t.Error("a text of 256 bytes was cut")
	}
	if got := Shorten("a\xffb", 256); got != "a\ufffdb" {
		t.Errorf("invalid text became %q", got)
	}
}

func TestList(t *testing.T) {
	for want, list := range map[string][]string{"": nil, "a, b": {"a", "b"}, "a, \"b\\n\" and 2 more": {"a", "b\n", "c", "d"}} {
		if got := List(list, 2, Name); got != want {
			t.Errorf("%q is listed as %s, want %s", list, got, want)
		}
	}
}
