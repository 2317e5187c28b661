package dns

import (
	"net/netip"
	"strings"

	mdns "github.com/miekg/dns"
)

// Zones of the names of PTR records, for IPv4 (RFC 1035, 3.5) and IPv6 (RFC 3596, 2.5).
const (
	reverse4 = "in-addr.arpa"
	reverse6 = "ip6.arpa"
)

// ReverseName returns the name of the PTR record of an address, without a final dot. An IPv4-mapped
// IPv6 address counts as IPv4.
func ReverseName(addr netip.Addr) string {
	// A valid address always has such a name.
	name, _ := mdns.ReverseAddr(addr.Unmap().WithZone("").String())
	return strings.TrimSuffix(name, ".")
}

// IsReverseName reports whether a name is in one of the zones for PTR records.
func IsReverseName(name string) bool {
	for _, zone := range []string{reverse4, reverse6} {
		if below, ok := strings.CutSuffix(strings.ToLower(name), "."+zone); ok && below != "" {
			return true
		}
	}
	return false
}

// IsReverseDomain reports whether a canonical domain is one of the zones for PTR records, or in one.
func IsReverseDomain(domain string) bool {
	return domain == reverse4 || domain == reverse6 || IsReverseName(domain)
}
