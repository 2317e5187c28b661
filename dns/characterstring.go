package dns

import (
	"errors"
	"fmt"
	"strings"
)

// MaxString is the maximum size of a character-string in bytes (RFC 1035, 3.3).
const MaxString = 255

// SplitString splits a text into character-strings: all but the last one have [MaxString] bytes. An
// empty text is one empty character-string.
func SplitString(text string) []string {
	parts := make([]string, 0, 1+len(text)/MaxString)
	for len(text) > MaxString {
		parts, text = append(parts, text[:MaxString]), text[MaxString:]
	}
	return append(parts, text)
}

// QuotedTexts returns the texts of a TXT target that is a list of quoted strings. ok is false for
// other targets.
func QuotedTexts(target string) (texts []string, ok bool) {
	words, err := Words(target)
	if err != nil || len(words) == 0 {
		return nil, false
	}
	for _, w := range words {
		if !w.Quoted {
			return nil, false
		}
		texts = append(texts, w.Text)
	}
	return texts, true
}

// TextStrings returns the character-strings of a TXT target: its quoted strings, or else the whole
// target, each split by [SplitString].
func TextStrings(target string) []string {
	texts, ok := QuotedTexts(strings.TrimSpace(target))
	if !ok {
		texts = []string{target}
	}
	var parts []string
	for _, text := range texts {
		parts = append(parts, SplitString(text)...)
	}
	return parts
}

// QuoteText returns the character-strings of a TXT target, each in quotes.
func QuoteText(target string) string {
	parts := TextStrings(target)
	for i, part := range parts {
		parts[i] = QuoteString(part)
	}
	return strings.Join(parts, " ")
}

// TextTarget returns character-strings as a TXT target, each in quotes. Strings that were split for
// their length are joined: one of [MaxString] bytes continues in the next one.
func TextTarget(parts []string) string {
	var joined []string
	full := false
	for _, part := range parts {
		if full {
			joined[len(joined)-1] += part
		} else {
			joined = append(joined, part)
		}
		full = len(part) == MaxString
	}
	for i, text := range joined {
		joined[i] = QuoteString(text)
	}
	return strings.Join(joined, " ")
}

// QuoteString returns a text in quotes, escaped as in a zone file (RFC 1035, 5.1).
func QuoteString(text string) string { return `"` + EscapeString(text) + `"` }

// EscapeString returns a text as it is written between quotes in a zone file (RFC 1035, 5.1).
func EscapeString(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// UnescapeString is the inverse of [EscapeString]. It also accepts escapes that EscapeString
// doesn't write, such as \a and \065.
func UnescapeString(escaped string) (string, error) {
	if !strings.Contains(escaped, `\`) {
		return escaped, nil
	}
	text := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '\\' {
			text = append(text, escaped[i])
			continue
		}
		octet, size, err := unescapeByte(escaped[i+1:])
		if err != nil {
			return "", err
		}
		text = append(text, octet)
		i += size
	}
	return string(text), nil
}

// unescapeByte reads the escape after a backslash, and returns its length.
func unescapeByte(s string) (octet byte, size int, err error) {
	switch {
	case s == "":
		return 0, 0, errors.New("there is nothing behind the last backslash")
	case s[0] < '0' || s[0] > '9':
		return s[0], 1, nil
	}
	n := 0
	for i := range 3 {
		if i >= len(s) || s[i] < '0' || s[i] > '9' {
			return 0, 0, errors.New("a backslash and a digit must be followed by two more digits")
		}
		n = n*10 + int(s[i]-'0')
	}
	if n > 255 {
		return 0, 0, fmt.Errorf(`\%d is more than a byte can have`, n)
	}
	return byte(n), 3, nil
}

// Word is a blank-separated part of a target.
type Word struct {
	// Text is the word without quotes and escapes.
	Text string
	// Raw is the word as it is in the target.
	Raw    string
	Quoted bool
}

// Words returns the words of a target in the syntax of zone files (RFC 1035, 5.1). A quoted
// word may have blanks in it.
func Words(target string) ([]Word, error) {
	var words []Word
	for s := strings.TrimLeft(target, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		size := wordSize(s)
		w := Word{Raw: s[:size], Quoted: s[0] == '"'}
		inside := w.Raw
		if w.Quoted {
			if size < 2 || s[size-1] != '"' {
				return nil, fmt.Errorf("%q has no closing quote", s)
			}
			inside = inside[1 : size-1]
		}
		var err error
		if w.Text, err = UnescapeString(inside); err != nil {
			return nil, fmt.Errorf("%q: %w", w.Raw, err)
		}
		words = append(words, w)
		if s = s[size:]; s != "" && s[0] != ' ' && s[0] != '\t' {
			return nil, fmt.Errorf("a blank must follow %s", w.Raw)
		}
	}
	return words, nil
}

// wordSize returns the size of the first word of s. If its quote isn't closed, the size is 1: the
// quote alone.
func wordSize(s string) int {
	quoted, start := s[0] == '"', 0
	if quoted {
		start = 1
	}
	for i := start; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case quoted && s[i] == '"':
			return i + 1
		case !quoted && (s[i] == ' ' || s[i] == '\t' || s[i] == '"'):
			return i
		}
	}
	if quoted {
		return 1
	}
	return len(s)
}
