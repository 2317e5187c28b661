package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Equal reports whether subsets are equal and in the same order (spec/endpoints.md §5.9). The resource
// version of targets is ignored, because it changes with every change of a pod.
func Equal(a, b []corev1.EndpointSubset) bool { return equalLists(a, b, equalSubsets) }

// spareEntries is how many more entries than needed are packed for a comparison, because an address may be at
// the same port several times.
const spareEntries = 1000

// Packs reports whether [Canonical] turns a list into the packed subsets. A list with many more entries than
// these is not packed, because an object of another writer could need gigabytes: an entry is an address at a
// port, and 10,000 addresses with 10,000 ports fit into one object.
func Packs(list, packed []corev1.EndpointSubset) bool {
	return entries(list) <= entries(packed)+spareEntries && Equal(Canonical(list), packed)
}

// entries returns the number of addresses, counted once for each port of their subset.
func entries(list []corev1.EndpointSubset) int {
	n := 0
	for i := range list {
		n += (len(list[i].Addresses) + len(list[i].NotReadyAddresses)) * max(1, len(list[i].Ports))
	}
	return n
}

// equalLists compares without copying the elements, which are large.
func equalLists[T any](a, b []T, equal func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func equalSubsets(a, b *corev1.EndpointSubset) bool {
	return equalLists(a.Ports, b.Ports, equalPorts) &&
		equalLists(a.Addresses, b.Addresses, equalAddresses) &&
		equalLists(a.NotReadyAddresses, b.NotReadyAddresses, equalAddresses)
}

func equalPorts(a, b *corev1.EndpointPort) bool {
	return a.Name == b.Name && a.Port == b.Port && a.Protocol == b.Protocol &&
		ptr.Equal(a.AppProtocol, b.AppProtocol)
}

func equalAddresses(a, b *corev1.EndpointAddress) bool {
	return a.IP == b.IP && a.Hostname == b.Hostname &&
		ptr.Equal(a.NodeName, b.NodeName) && equalTargets(a.TargetRef, b.TargetRef)
}

func equalTargets(a, b *corev1.ObjectReference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Name == b.Name && a.Namespace == b.Namespace && a.Kind == b.Kind &&
		a.APIVersion == b.APIVersion && a.FieldPath == b.FieldPath
}
