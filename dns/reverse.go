package dns

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The zones of reverse names, for IPv4 (RFC 1035, 3.5) and IPv6 (RFC 3596, 2.5).
const (
	reverse4 = "in-addr.arpa"
	reverse6 = "ip6.arpa"
)

// ReverseName returns the name of the PTR record of an address, without a dot at its end.
// An IPv4 address written as IPv6 counts as IPv4.
func ReverseName(addr netip.Addr) string {
	addr = addr.Unmap()
	return reversed(netip.PrefixFrom(addr, addr.BitLen()))
}

// reversed returns the reverse name of a prefix that ends with an octet, for IPv6 with
// four bits.
func reversed(p netip.Prefix) string {
	var name []byte
	if p.Addr().Is4() {
		octets := p.Addr().As4()
		for i := p.Bits()/8 - 1; i >= 0; i-- {
			name = append(strconv.AppendUint(name, uint64(octets[i]), 10), '.')
		}
		return string(append(name, reverse4...))
	}
	const digits = "0123456789abcdef"
	octets := p.Addr().As16()
	for i := p.Bits()/4 - 1; i >= 0; i-- {
		// The even ones are the upper halves.
		half := octets[i/2] >> (4 * (1 - i%2)) & 0xf
		name = append(name, digits[half], '.')
	}
	return string(append(name, reverse6...))
}

// ReverseZone returns the name of the zone that holds the reverse names of a network such
// as 10.20.0.0/16 or 2001:db8::/32; a bare address is a network of its own. IPv4
// networks of 25 to 31 bits have the name of RFC 2317, such as 0/25.30.20.10.in-addr.arpa.
// It is an error if the network doesn't end with an octet, in IPv6 with four bits, if it
// is everything, or if the address has bits after those of the network.
func ReverseZone(cidr string) (string, error) {
	p, err := parseNetwork(cidr)
	if err != nil {
		return "", fmt.Errorf("reverse zone of %q: %w", cidr, err)
	}
	step := 4
	if p.Addr().Is4() {
		step = 8
	}
	switch bits := p.Bits(); {
	case p != p.Masked():
		return "", fmt.Errorf("reverse zone of %q: the address is not the first one of the network: write %v", cidr, p.Masked())
	case bits == 0:
		return "", fmt.Errorf("reverse zone of %q: a network of 0 bits is everything", cidr)
	case bits%step == 0:
		return reversed(p), nil
	case p.Addr().Is4() && bits > 24:
		first := p.Addr().As4()[3]
		return fmt.Sprintf("%d/%d.%s", first, bits, reversed(netip.PrefixFrom(p.Addr(), 24))), nil
	default:
		return "", fmt.Errorf("reverse zone of %q: a network of %d bits has none: take a multiple of %d", cidr, bits, step)
	}
}

// parseNetwork parses a network or an address. IPv4 in IPv6 becomes IPv4.
func parseNetwork(cidr string) (netip.Prefix, error) {
	if !strings.Contains(cidr, "/") {
		addr, err := netip.ParseAddr(cidr)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%w: write a network such as 10.0.0.0/8, or an address", err)
		}
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%w: write a network such as 10.0.0.0/8, or an address", err)
	}
	const mapped = 96
	if p.Addr().Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p, nil
}
