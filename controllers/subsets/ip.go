package subsets

import (
	"net/netip"

	netutils "k8s.io/utils/net"
)

// ParseIP parses the IP of an address or a pod. As in the API, leading zeros are allowed and zones are not.
// An IPv4 address in IPv6 form is returned as IPv4.
func ParseIP(text string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Unmap(), ip.Zone() == ""
	}
	ip, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return ip.Unmap(), ok
}
