package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import corev1 "k8s.io/api/core/v1"

// part is a ready address, or a port of ready addresses.
type part struct {
	ip       string
	port     int32
	protocol corev1.Protocol
}

// lacks reports whether a version of Endpoints lacks ready addresses or ports of another one. Addresses and
// ports are compared apart, because their combinations are too many: 10,000 addresses with 10,000 ports fit
// into one object.
func lacks(version, other *corev1.Endpoints) bool {
	has := parts(version)
	for p := range parts(other) {
		if !has[p] {
			return true
		}
	}
	return false
}

func parts(ep *corev1.Endpoints) map[part]bool {
	all := map[part]bool{}
	for i := range ep.Subsets {
		subset := &ep.Subsets[i]
		if len(subset.Addresses) == 0 {
			continue
		}
		for j := range subset.Addresses {
			all[part{ip: subset.Addresses[j].IP}] = true
		}
		for j := range subset.Ports {
			all[part{port: subset.Ports[j].Port, protocol: subset.Ports[j].Protocol}] = true
		}
	}
	return all
}
