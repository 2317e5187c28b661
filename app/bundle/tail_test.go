package bundle

import (
	"strings"
	"testing"
)

// Of a long log the last bytes are kept, from the first complete line: the rest of a line may have the end of a
// secret, which isn't masked.
func TestTail(t *testing.T) {
	lines := strings.Repeat("a line\n", 3*maxLog/7) + "the last line"
	for name, test := range map[string]struct {
		log, first, last string
		cut              bool
	}{
		"short":    {log: "one\ntwo\n", first: "one", last: "two\n"},
		"long":     {log: lines, first: "a line", last: "the last line", cut: true},
		"one line": {log: "secret=" + strings.Repeat("x", maxLog), cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			var end tail
			for rest := []byte(test.log); len(rest) > 0; {
				n, _ := end.Write(rest[:min(len(rest), 32<<10)])
				rest = rest[n:]
			}
			text := string(end.text())
			first, _, _ := strings.Cut(text, "\n")
			if first != test.first || !strings.HasSuffix(text, test.last) || test.last == "" && text != "" || len(text) > maxLog || end.cut != test.cut {
				t.Errorf("%d bytes from %.20q to %q, cut %t", len(text), first, text[max(0, len(text)-20):], end.cut)
			}
		})
	}
}
