package aws

import (
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// wireName returns a name in Route 53's form (spec/clouds.md §1.3): in lower case, with a dot at its end, and
// with most bytes escaped.
func wireName(name string) string {
	name = dns.Canonical(name)
	var b strings.Builder
	b.Grow(len(name) + 1)
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('.')
	return b.String()
}

// plainName is the inverse of wireName.
func plainName(name string) string {
	name = strings.TrimSuffix(name, ".")
	if !strings.Contains(name, `\`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if octet, ok := octalEscape(name[i:]); ok {
			b.WriteByte(octet)
			i += 3
			continue
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// checkName returns an error for an impossible name. Route 53 accepts all printable characters (Developer
// Guide, DomainNameFormat), but a backslash before three octal digits is ambiguous.
func checkName(name string) error {
	for i := range len(name) {
		if _, escape := octalEscape(name[i:]); escape {
			return fmt.Errorf("%q could be an escape of Route 53: write the character that it stands for", name[i:i+4])
		}
	}
	return dns.CheckNameWith(name, dns.EscapedCharacters)
}

// octalEscape decodes an escape such as \052 at the start of a text.
func octalEscape(s string) (octet byte, ok bool) {
	if len(s) < 4 || s[0] != '\\' || s[1] > '3' {
		return 0, false
	}
	for _, c := range []byte(s[1:4]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		octet = octet<<3 | (c - '0')
	}
	return octet, true
}
