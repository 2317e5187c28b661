package pdns

import (
	"fmt"
	"strings"
)

// segmentSize is the most bytes that a character-string of a TXT record can have (RFC 1035
// 3.3).
const segmentSize = 255

// textContent returns a TXT target as PowerDNS takes it: quoted strings of at most 255
// bytes each.
func textContent(target string) string {
	var quoted []string
	for _, s := range textStrings(target) {
		for len(s) > segmentSize {
			quoted = append(quoted, quote(s[:segmentSize]))
			s = s[segmentSize:]
		}
		quoted = append(quoted, quote(s))
	}
	return strings.Join(quoted, " ")
}

// textTarget returns the one form of the content of a TXT record by which it is known.
// What was split for its length only is one string again: some backends of PowerDNS split
// by themselves.
func textTarget(content string) string {
	var quoted []string
	for _, s := range textStrings(content) {
		quoted = append(quoted, quote(s))
	}
	return strings.Join(quoted, " ")
}

// textStrings returns the strings that a text consists of: those in quotes, or else all of
// it. A string that has a multiple of 255 bytes goes on with the next one.
func textStrings(text string) []string {
	parts, ok := unquote(text)
	if !ok {
		return []string{text}
	}
	joined := parts[:1]
	size := len(parts[0])
	for _, s := range parts[1:] {
		// size is that of the last piece: a piece that isn't full ends its string.
		if size == segmentSize {
			joined[len(joined)-1] += s
		} else {
			joined = append(joined, s)
		}
		size = len(s)
	}
	return joined
}

// unquote reads quoted strings with blanks in between. It reports false when the text is
// anything else.
func unquote(text string) (parts []string, ok bool) {
	rest := strings.TrimSpace(text)
	for rest != "" {
		if rest[0] != '"' {
			return nil, false
		}
		part, length, ok := unquoteOne(rest[1:])
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
		rest = rest[1+length:]
		after := strings.TrimLeft(rest, " \t")
		if after != "" && len(after) == len(rest) {
			return nil, false
		}
		rest = after
	}
	return parts, len(parts) > 0
}

// unquoteOne reads a string up to and with the quote at its end, and returns how long that
// is in the text.
func unquoteOne(text string) (part string, length int, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), i + 1, true
		case '\\':
			value, more, ok := escaped(text[i+1:])
			if !ok {
				return "", 0, false
			}
			b.WriteByte(value)
			i += more
		default:
			b.WriteByte(text[i])
		}
	}
	return "", 0, false
}

// escaped reads what follows a backslash: three digits, or the byte itself.
func escaped(text string) (value byte, length int, ok bool) {
	if text == "" {
		return 0, 0, false
	}
	if text[0] < '0' || text[0] > '9' {
		return text[0], 1, true
	}
	if len(text) < 3 {
		return 0, 0, false
	}
	number := 0
	for _, c := range []byte(text[:3]) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		number = 10*number + int(c-'0')
	}
	return byte(number), 3, number <= 255
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
