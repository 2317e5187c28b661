package pdns

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestTexts(t *testing.T) {
	x := strings.Repeat
	tests := map[string]struct{ text, content, target string }{
		"quoted":            {`"a b"`, `"a b"`, `"a b"`},
		"not quoted":        {`a b`, `"a b"`, `"a b"`},
		"empty":             {`""`, `""`, `""`},
		"nothing":           {``, `""`, `""`},
		"several":           {`"a"  "b"`, `"a" "b"`, `"a" "b"`},
		"escapes":           {`"a\"b\\c\065"`, `"a\"b\\cA"`, `"a\"b\\cA"`},
		"not ASCII":         {`"ü"`, `"\195\188"`, `"\195\188"`},
		"quote inside":      {`a"b`, `"a\"b"`, `"a\"b"`},
		"no end":            {`"a`, `"\"a"`, `"\"a"`},
		"no blank between":  {`"a""b"`, `"\"a\"\"b\""`, `"\"a\"\"b\""`},
		"number too large":  {`"\256"`, `"\"\\256\""`, `"\"\\256\""`},
		"half a number":     {`"\25"`, `"\"\\25\""`, `"\"\\25\""`},
		"backslash at end":  {`"a\`, `"\"a\\"`, `"\"a\\"`},
		"exactly full":      {`"` + x("x", 255) + `"`, `"` + x("x", 255) + `"`, `"` + x("x", 255) + `"`},
		"one too many":      {`"` + x("x", 256) + `"`, `"` + x("x", 255) + `" "x"`, `"` + x("x", 256) + `"`},
		"split already":     {`"` + x("x", 255) + `" "` + x("x", 255) + `" "y"`, `"` + x("x", 255) + `" "` + x("x", 255) + `" "y"`, `"` + x("x", 510) + `y"`},
		"split by somebody": {`"` + x("x", 254) + `" "y"`, `"` + x("x", 254) + `" "y"`, `"` + x("x", 254) + `" "y"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := dns.QuoteText(tt.text); got != tt.content {
				t.Errorf("content %s, want %s", got, tt.content)
			}
			if got := textTarget(tt.text); got != tt.target {
				t.Errorf("target %s, want %s", got, tt.target)
			}
		})
	}
}

// A text that was written is read as it was adjusted, however PowerDNS splits it.
func FuzzText(f *testing.F) {
	for _, seed := range []string{``, `"a" "b"`, `"\"\\\195"`, `"` + strings.Repeat("x", 700) + `"`, `"\9"`, `a"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, content := textTarget(text), dns.QuoteText(text)
		if again := textTarget(target); again != target {
			t.Errorf("%q becomes %q, and that %q", text, target, again)
		}
		if read := textTarget(content); read != target {
			t.Errorf("%q is written as %q, which is read as %q, want %q", text, content, read, target)
		}
		if read := dns.QuoteText(target); read != content {
			t.Errorf("%q is written as %q, but %q as %q", text, content, target, read)
		}
		words, err := dns.Words(content)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, content, err)
		}
		for _, w := range words {
			if !w.Quoted || len(w.Text) > dns.MaxString {
				t.Errorf("%q is written with %s, want quoted strings of at most %d bytes", text, w.Raw, dns.MaxString)
			}
		}
	})
}
