package catalog

import (
	"cmp"
	"net/netip"
	"slices"
)

// Rival is an object that claims an address which another one has.
type Rival struct {
	IP netip.Addr
	// Other doesn't get the address. Kept gets it, unless Undecided is true: then nothing tells
	// which of both it belongs to, and neither gets it.
	Kept, Other ID
	Undecided   bool
}

// claim is a workload that claims an address, and whether it is ready: by its slice in answers about
// a Service, by itself in those about an address.
type claim struct {
	*Workload
	ready bool
}

// compareClaims says which of two workloads has an address that both claim: it is negative if a has
// it, and zero if nothing tells. The usual pair is a pod of a node that is gone and isn't marked
// for deletion yet, and a new pod that was given the address.
func compareClaims(a, b claim) int {
	return cmp.Or(
		first(!a.Terminating, !b.Terminating),
		first(a.ready, b.ready),
		first(a.Running, b.Running),
		b.Created.Compare(a.Created),
	)
}

// first orders what has a property before what hasn't.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// claimants returns the workloads to keep that claim their address, in the order of
// [compareClaims], then by name: no answer depends on the order in which they were put. A pod that
// is being deleted claims it while it runs.
func claimants(list []*workloadEntry, keep func(*Workload) bool) []*workloadEntry {
	var kept []*workloadEntry
	for _, e := range list {
		if w := e.workload; keep(w) && !w.Finished && (w.Running || !w.Terminating) {
			kept = append(kept, e)
		}
	}
	slices.SortFunc(kept, func(a, b *workloadEntry) int {
		v, w := a.workload, b.workload
		return cmp.Or(compareClaims(claim{v, v.Ready}, claim{w, w.Ready}),
			cmp.Compare(v.Key.Namespace, w.Key.Namespace), cmp.Compare(v.Key.Name, w.Key.Name))
	})
	return kept
}

// rivals returns the rivals among the claimants of an address, which are in order. Pods that are
// being deleted are none.
func rivals(ip netip.Addr, claimants []*workloadEntry) []Rival {
	var list []Rival
	for _, e := range claimants[1:] {
		kept, other := claimants[0].workload, e.workload
		if other.Terminating {
			break
		}
		list = append(list, Rival{
			IP: ip, Kept: kept.ID(), Other: other.ID(), Undecided: compareClaims(claim{kept, kept.Ready}, claim{other, other.Ready}) == 0,
		})
	}
	return list
}
