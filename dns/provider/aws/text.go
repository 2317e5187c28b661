package aws

import (
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// wireText returns a TXT target in Route 53's form: quoted strings of at most 255 bytes, with everything but
// printable ASCII escaped in octal, not in decimal as elsewhere.
func wireText(target string) string {
	parts := dns.TextStrings(target)
	for i, part := range parts {
		parts[i] = quoteOctal(part)
	}
	return strings.Join(parts, " ")
}

func quoteOctal(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// listedText returns the value of a TXT record as a target. Strings that were only split because of their
// length are joined. A value that isn't a list of quoted strings stays unchanged.
func listedText(value string) string {
	parts, ok := unquoteOctal(value)
	if !ok {
		return value
	}
	return dns.TextTarget(parts)
}

// unquoteOctal returns the strings of a value; ok is false if it isn't a list of them.
func unquoteOctal(value string) (parts []string, ok bool) {
	for rest := strings.Trim(value, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		if rest[0] != '"' {
			return nil, false
		}
		var text strings.Builder
		i := 1
		for ; i < len(rest) && rest[i] != '"'; i++ {
			octet, escaped := octalEscape(rest[i:])
			switch {
			case escaped:
				i += 3
			case rest[i] == '\\' && i+1 < len(rest):
				i++
				octet = rest[i]
			default:
				octet = rest[i]
			}
			text.WriteByte(octet)
		}
		if i >= len(rest) {
			return nil, false
		}
		parts, rest = append(parts, text.String()), rest[i+1:]
	}
	return parts, len(parts) > 0
}
