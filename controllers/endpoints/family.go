package endpoints

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/subsets"
	"github.com/signpostd/signpost/controllers/watched"
)

// family is which IPs the Endpoints of a Service have.
type family int

const (
	ofPod family = iota // that of the pod's first IP
	ipv4
	ipv6
)

// familyOf returns the family that a Service says (spec/endpoints.md §5.4). Services that
// watch events deliver may lack the families that reading them would show.
func familyOf(service *corev1.Service) family {
	six := false
	switch {
	case len(service.Spec.IPFamilies) > 0:
		six = service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	case service.Spec.ClusterIP != "" && !isHeadless(service):
		six = isIPv6(service.Spec.ClusterIP)
	default:
		return ofPod
	}
	if six {
		return ipv6
	}
	return ipv4
}

// ip returns the first IP of a pod that is of the family, in normal form. One that can't be
// read is passed over (K14).
func (f family) ip(pod *watched.Pod) (string, bool) {
	six := f == ipv6 || f == ofPod && isIPv6(pod.IP)
	for _, text := range pod.IPs {
		if ip, ok := subsets.ParseIP(text); ok && ip.Is6() == six {
			return normal(ip, text), true
		}
	}
	return "", false
}

func isIPv6(text string) bool {
	ip, ok := subsets.ParseIP(text)
	return ok && ip.Is6()
}

// normal returns the text of an IP, which is the text it was read from as a rule.
func normal(ip netip.Addr, text string) string {
	var buffer [64]byte
	b := ip.AppendTo(buffer[:0])
	if string(b) == text {
		return text
	}
	return string(b)
}
