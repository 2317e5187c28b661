package clouddnstest

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

const (
	// maxString is the longest string of a TXT record, in bytes (RFC 1035, 3.3).
	maxString = 255
	maxOctet  = 255
)

// valid validates a value (json-record).
func valid(recordType, v string) bool {
	fields := strings.Fields(v)
	switch recordType {
	case "A", "AAAA":
		addr, err := netip.ParseAddr(v)
		return err == nil && addr.Zone() == "" && addr.Is4() == (recordType == "A")
	case "CNAME", "NS", "PTR":
		return len(fields) == 1 && isHost(v)
	case "MX":
		return len(fields) == 2 && areNumbers(fields[:1]) && isHost(fields[1])
	case "SRV":
		return len(fields) == 4 && areNumbers(fields[:3]) && isHost(fields[3])
	case "NAPTR":
		return len(fields) >= 6 && areNumbers(fields[:2]) && isHost(fields[len(fields)-1])
	case "TXT", "SPF":
		return isText(v)
	}
	return true
}

func areNumbers(fields []string) bool {
	for _, f := range fields {
		if _, err := strconv.ParseUint(f, 10, 16); err != nil {
			return false
		}
	}
	return true
}

// isHost reports whether a value is a host name with a trailing dot.
func isHost(v string) bool { return v == "." || strings.HasSuffix(v, ".") && isName(v) }

// character matches one character of a quoted string: a decimal escape, an escaped character, or one that
// needs no escape (RFC 1035, 5.1).
var character = regexp.MustCompile(`^(?:\\([0-9]{3})|\\[^0-9]|[^"\\\x00-\x1f\x7f-\x{10ffff}])`)

// isText reports whether a value is a list of strings, each quoted or a single word.
func isText(v string) bool {
	for rest := v; ; {
		quoted := strings.HasPrefix(rest, `"`)
		if quoted {
			rest = rest[1:]
		}
		length := 0
		for rest != "" && !strings.HasPrefix(rest, `"`) && (quoted || rest[0] != ' ') {
			c := character.FindStringSubmatch(rest)
			if c == nil {
				return false
			}
			if octet, err := strconv.Atoi(c[1]); err == nil && octet > maxOctet {
				return false
			}
			rest = rest[len(c[0]):]
			length++
		}
		if length > maxString || !quoted && length == 0 {
			return false
		}
		if quoted {
			if rest == "" {
				return false
			}
			rest = rest[1:]
		}
		if rest == "" {
			return true
		}
		if rest[0] != ' ' {
			return false
		}
		rest = strings.TrimLeft(rest, " ")
	}
}
