package rfc2136

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A TXT record is a list of character-strings of at most 255 octets (RFC 1035 3.3.14).
// Most are one text that was cut because it is longer, so a target is the whole text in
// quotes. A list that was cut otherwise is one quoted text for each string; then a target
// says exactly what is in the zone, and can be deleted.

const maxString = 255

// textStrings returns the character-strings of a target: of its quoted texts, or else of the
// target as it is.
func textStrings(target string) ([][]byte, error) {
	if !strings.HasPrefix(target, `"`) {
		return cut([]byte(target)), nil
	}
	list, err := words(target)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, w := range list {
		if !w.quoted {
			return nil, fmt.Errorf("%q has something outside of quotes", target)
		}
		all = append(all, cut(w.text)...)
	}
	return all, nil
}

// textTarget returns the target for character-strings.
func textTarget(all [][]byte) string {
	whole := bytes.Join(all, nil)
	if slices.EqualFunc(cut(whole), all, bytes.Equal) {
		return quote(whole)
	}
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, " ")
}

// cut returns a text as character-strings, one at least.
func cut(text []byte) [][]byte {
	all := [][]byte{text[:min(len(text), maxString)]}
	for len(text) > maxString {
		text = text[maxString:]
		all = append(all, text[:min(len(text), maxString)])
	}
	return all
}

func quote(text []byte) string { return `"` + escape(text) + `"` }

// escape returns a text as it is between quotes (RFC 1035 5.1).
func escape(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, c := range text {
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

// unescape undoes escapes (RFC 1035 5.1).
func unescape(s string) ([]byte, error) {
	if !strings.Contains(s, `\`) {
		return []byte(s), nil
	}
	text := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			text = append(text, s[i])
			continue
		}
		octet, size, err := escaped(s[i+1:])
		if err != nil {
			return nil, err
		}
		text = append(text, octet)
		i += size
	}
	return text, nil
}

// escaped reads what follows a backslash, and returns its size.
func escaped(s string) (octet byte, size int, err error) {
	switch {
	case s == "":
		return 0, 0, errors.New("there is nothing behind the last backslash")
	case s[0] < '0' || s[0] > '9':
		return s[0], 1, nil
	}
	n := 0
	for i := range 3 {
		if i >= len(s) || s[i] < '0' || s[i] > '9' {
			return 0, 0, errors.New("a backslash and a digit must be followed by two more")
		}
		n = n*10 + int(s[i]-'0')
	}
	if n > 255 {
		return 0, 0, fmt.Errorf(`\%d is more than an octet`, n)
	}
	return byte(n), 3, nil
}

// word is a part of a target that is separated from others by blanks.
type word struct {
	// text is without quotes and escapes, raw is as it was.
	text   []byte
	raw    string
	quoted bool
}

// words returns the words of a target.
func words(s string) ([]word, error) {
	var list []word
	for s = strings.TrimLeft(s, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		size := wordSize(s)
		w := word{raw: s[:size], quoted: s[0] == '"'}
		inside := w.raw
		if w.quoted {
			if size < 2 || s[size-1] != '"' {
				return nil, fmt.Errorf("%q lacks a quote at its end", s)
			}
			inside = inside[1 : size-1]
		}
		var err error
		if w.text, err = unescape(inside); err != nil {
			return nil, fmt.Errorf("%q: %w", w.raw, err)
		}
		list = append(list, w)
		if s = s[size:]; s != "" && s[0] != ' ' && s[0] != '\t' {
			return nil, fmt.Errorf("a blank must follow %s", w.raw)
		}
	}
	return list, nil
}

// wordSize returns the size of the word that s begins with. Of one with an open quote it
// is all that is left, which doesn't end with a quote of its own.
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
