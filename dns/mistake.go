package dns

import "strings"

// mistakenHost returns why a host is certainly a mistake, or "": an address with a port or a
// network, a URL, a wildcard, or a name whose last label is a number, because no top-level domain
// is numeric (RFC 3696, 2). DNS could store such a name, but no resolver would look it up.
func mistakenHost(host string) string {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case strings.Contains(host, "://"):
		return "a URL: write only the host name or address"
	case strings.ContainsAny(host, ":/[]"):
		return "not a host name: write an address or a name, without port, prefix length or brackets"
	case strings.HasPrefix(host, "*."):
		return "a wildcard, which no client can connect to: write the name of a host"
	case last != "" && strings.Trim(last, "0123456789") == "":
		return "its last label is a number, so it is neither a host name nor a valid address: correct it"
	}
	return ""
}

// mistakenName returns why the name of a record is certainly a mistake, or "". An asterisk that is
// not the whole first label is an ordinary character (RFC 4592, 2.1.1), which servers accept.
func mistakenName(name string) string {
	if strings.Contains(name, "://") {
		return "a URL: write only the host name"
	}
	return ""
}
