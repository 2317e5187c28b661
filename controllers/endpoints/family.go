package endpoints

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/subsets"
	"github.com/signpostd/signpost/controllers/watched"
)

// podIP returns the first IP of a pod in the family of the Service, in canonical form (spec/endpoints.md
// §5.4). An IP that doesn't parse is skipped (K14).
func podIP(service *corev1.Service, pod *watched.Pod) (string, bool) {
	v6 := wantsIPv6(service, pod)
	for _, text := range pod.IPs {
		if !v6 && isNormalIPv4(text) {
			return text, true
		}
		if ip, ok := subsets.ParseIP(text); ok && ip.Is6() == v6 {
			return normal(ip, text), true
		}
	}
	return "", false
}

// wantsIPv6 reports whether addresses must be IPv6. A Service from a watch may lack the families that the API
// server fills in on reads.
func wantsIPv6(service *corev1.Service, pod *watched.Pod) bool {
	switch {
	case len(service.Spec.IPFamilies) > 0:
		return service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	case service.Spec.ClusterIP != "" && !isHeadless(service):
		return isIPv6(service.Spec.ClusterIP)
	default:
		return isIPv6(pod.IP)
	}
}

func isIPv6(text string) bool {
	ip, ok := subsets.ParseIP(text)
	return ok && ip.Is6()
}

// isNormalIPv4 reports whether text is an IPv4 address in canonical form, the only form that netip accepts.
// Nearly all IPs are, so they need not be formatted and compared.
func isNormalIPv4(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Is4()
}

// normal returns an IP as text. If the text that it was parsed from is canonical, it returns that, without
// allocating.
func normal(ip netip.Addr, text string) string {
	var buffer [64]byte
	b := ip.AppendTo(buffer[:0])
	if string(b) == text {
		return text
	}
	return string(b)
}
