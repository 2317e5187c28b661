package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import corev1 "k8s.io/api/core/v1"

// socket is a ready address with one of its ports.
type socket struct {
	ip       string
	port     int32
	protocol corev1.Protocol
}

// lacks reports whether a version of Endpoints lacks ready addresses or ports of another one.
func lacks(version, other *corev1.Endpoints) bool {
	has := sockets(version)
	for s := range sockets(other) {
		if !has[s] {
			return true
		}
	}
	return false
}

func sockets(ep *corev1.Endpoints) map[socket]bool {
	all := map[socket]bool{}
	for i := range ep.Subsets {
		subset := &ep.Subsets[i]
		for _, a := range subset.Addresses {
			all[socket{ip: a.IP}] = true
			for _, p := range subset.Ports {
				all[socket{a.IP, p.Port, p.Protocol}] = true
			}
		}
	}
	return all
}
