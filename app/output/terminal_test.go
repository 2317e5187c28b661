package output

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// tenants S12: what a terminal would take for a command is shown as an escape.
func TestTerminal(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"plain":                      {"a b\tc\nd", "a b\tc\nd"},
		"umlauts and Chinese":        {"Zürich 北京 🦉", "Zürich 北京 🦉"},
		"ESC":                        {"a\x1b[31mb", `a\u001b[31mb`},
		"title and BEL":              {"\x1b]0;PWNED\a", `\u001b]0;PWNED\u0007`},
		"control sequence of 8 bits": {"\u009b31m", `\u009b31m`},
		"its byte alone":             {"\x9b31m", `\ufffd31m`},
		"bidirectional":              {"\u202eevil\u2066", `\u202eevil\u2066`},
		"zero width":                 {"a\u200bb\ufeff", `a\u200bb\ufeff`},
		"tag characters":             {"\U000e0041", `\udb40\udc41`},
		"carriage return":            {"ok\rbad", `ok\u000dbad`},
		"backspace, DEL":             {"a\b\x7f", `a\u0008\u007f`},
		"line separator":             {"a\u2028b", `a\u2028b`},
		"NUL":                        {"\x00", `\u0000`},
		"cut off":                    {"a\xe4\xb8", `a\ufffd\ufffd`},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(test.text); size++ { // in pieces of any size
				var out bytes.Buffer
				w := NewTerminal(&out)
				for at := 0; at < len(test.text); at += size {
					piece := test.text[at:min(at+size, len(test.text))]
					if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
						t.Fatal(n, err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if out.String() != test.want {
					t.Errorf("in pieces of %d: %q, want %q", size, out.String(), test.want)
				}
			}
			if got := Escape(test.text); got != test.want {
				t.Errorf("Escape: %q, want %q", got, test.want)
			}
		})
	}
	var out bytes.Buffer
	if Raw(NewTerminal(&out)) != &out || Raw(&out) != &out {
		t.Error("Raw returns something else")
	}
}

// Nothing that is written can move a cursor, and JSON means the same as before.
func FuzzTerminal(f *testing.F) {
	for _, text := range []string{"a\x1b", "\u202e", "\xff", "\U000e0041", `\u0041`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if shown := Escape(text); !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
		}) {
			t.Errorf("%q", shown)
		}
		if strings.ContainsAny(Clean(text), "\n\t\r") {
			t.Errorf("%q has lines", Clean(text))
		}
		written, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if json.Unmarshal(written, &want) != nil || json.Unmarshal([]byte(Escape(string(written))), &got) != nil || got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}

// Whatever a tenant calls an object or a name, a command that is copied into a shell has it as one argument.
func TestArgument(t *testing.T) {
	for text, want := range map[string]string{
		"Service/shop/web":             "Service/shop/web",
		"www.example.org":              "www.example.org",
		"-x-.example.org":              "-- -x-.example.org",
		"*.example.org":                "'*.example.org'",
		"-h;reboot":                    "-- '-h;reboot'",
		"it's.$(reboot)\nexample.org ": `'it'\''s.$(reboot) example.org'`,
	} {
		if got := Argument(text); got != want {
			t.Errorf("Argument(%q) is %s, want %s", text, got, want)
		}
		words, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' "+Argument(text)).Output()
		if plain := strings.TrimPrefix(strings.TrimSuffix(string(words), "|"), "--|"); err != nil || plain != Clean(text) {
			t.Errorf("a shell makes %q of %s (%v)", words, Argument(text), err)
		}
	}
}
