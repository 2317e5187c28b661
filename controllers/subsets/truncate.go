package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Truncate keeps as many addresses as capacity allows, and reports whether it removed some (spec/endpoints.md
// §5.10.1). Addresses that are not ready are removed first. The remaining capacity is shared among the
// subsets in proportion to their addresses, rounded up until nothing is left.
//
// A subset without addresses is dropped, because the API server would refuse the whole object for it (K6).
func Truncate(list []corev1.EndpointSubset, capacity int) ([]corev1.EndpointSubset, bool) {
	ready, notReady := count(list)
	if ready+notReady <= capacity {
		return list, false
	}
	kept := slices.Clone(list)
	if ready <= capacity {
		s := sharing{budget: capacity - ready, of: notReady, left: capacity - ready}
		for i := range kept {
			kept[i].NotReadyAddresses = s.take(kept[i].NotReadyAddresses)
		}
	} else {
		s := sharing{budget: capacity, of: ready, left: capacity}
		for i := range kept {
			kept[i].Addresses = s.take(kept[i].Addresses)
			kept[i].NotReadyAddresses = nil
		}
	}
	return slices.DeleteFunc(kept, func(s corev1.EndpointSubset) bool {
		return len(s.Addresses)+len(s.NotReadyAddresses) == 0
	}), true
}

// sharing divides a budget among lists of addresses.
type sharing struct {
	budget int
	of     int // number of addresses in all lists
	left   int // of the budget
}

// take returns the part of the next list that is kept.
func (s *sharing) take(list []corev1.EndpointAddress) []corev1.EndpointAddress {
	// The Kubernetes controller also divides first, which affects rounding.
	share := math.Ceil(float64(len(list)) / float64(s.of) * float64(s.budget))
	n := min(int(share), s.left, len(list))
	s.left -= n
	if n == 0 {
		return nil
	}
	return list[:n:n]
}

// count returns the number of entries in the lists.
func count(list []corev1.EndpointSubset) (ready, notReady int) {
	for i := range list {
		ready += len(list[i].Addresses)
		notReady += len(list[i].NotReadyAddresses)
	}
	return ready, notReady
}
