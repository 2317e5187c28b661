package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Terminal is a writer for terminals and CI logs. It replaces characters that control a terminal or
// change the text's order by escapes such as \u001b: control characters, except tabs and line
// breaks, and characters of the class Cf, such as those for bidirectional text. JSON has such
// characters only in strings, where the escape is equivalent, so JSON stays valid.
//
// Each command writes through a Terminal. Output that isn't text goes to [Raw].
type Terminal struct {
	mu  sync.Mutex
	out io.Writer
	// rest is the beginning of a character whose end was not written yet.
	rest []byte
}

// NewTerminal returns a Terminal that writes to out.
func NewTerminal(out io.Writer) *Terminal { return &Terminal{out: out} }

// Raw returns the writer below a Terminal, and any other writer itself. It is for files that aren't
// text, and for text that was escaped with [Escape] and then coloured.
func Raw(w io.Writer) io.Writer {
	if t, ok := w.(*Terminal); ok {
		return t.out
	}
	return w
}

// Write implements io.Writer. The end of a character may come with the next call.
func (t *Terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := text
	if len(t.rest) > 0 {
		all = append(t.rest, text...)
	}
	whole := len(all) - cutOff(all)
	t.rest = bytes.Clone(all[whole:])
	if _, err := t.out.Write(escaped(all[:whole])); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close writes an incomplete character. It doesn't close the writer below.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.rest
	t.rest = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := t.out.Write(escaped(rest))
	return err
}

// cutOff returns how many bytes at the end are an incomplete character.
func cutOff(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if utf8.FullRune(text[len(text)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Escape returns a text as a [Terminal] writes it.
func Escape(text string) string { return string(escaped([]byte(text))) }

func escaped(text []byte) []byte {
	first := bytes.IndexFunc(text, func(r rune) bool { return !isShown(r) })
	if first < 0 {
		return text
	}
	out := append(make([]byte, 0, len(text)+64), text[:first]...)
	for rest := text[first:]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case isShown(r):
			out = append(out, rest[:size]...)
		case r == utf8.RuneError && size == 1:
			out = append(out, "\\ufffd"...)
		default:
			out = appendEscape(out, r)
		}
		rest = rest[size:]
	}
	return out
}

// isShown reports whether a terminal only shows a character. Invalid UTF-8 is escaped, because
// terminals treat it differently.
func isShown(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		return true
	case r == utf8.RuneError:
		return false
	}
	return !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && r != '\u2028' && r != '\u2029'
}

// appendEscape appends an escape as in JSON, where a character beyond the basic plane has two.
func appendEscape(out []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// Clean returns a text on one line, with escapes for characters that control a terminal. Line
// breaks become blanks.
func Clean(text string) string { return Escape(strings.Join(strings.Fields(text), " ")) }

// Argument returns a text as the last argument of a command that people copy into a shell: quoted where a shell
// would change it, and after "--" if it begins like a flag.
func Argument(text string) string {
	text = Clean(text)
	flag := strings.HasPrefix(text, "-")
	if strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._/:", r)
	}) {
		text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	if flag {
		return "-- " + text
	}
	return text
}
