package catalog

import (
	"cmp"
	"net/netip"
	"slices"
)

// AddressConflict says that two objects claim one IP address.
type AddressConflict struct {
	IP netip.Addr
	// Winner gets the address and Loser does not. If Undecided is true, no rule decides who gets it: the
	// profile of the address is refused, and a Service has Winner, the first by name.
	Winner, Loser ID
	Undecided     bool
}

// claim is a workload that claims an address. For endpoints of a Service, ready comes from the slice; for
// lookups of an address, from the workload.
type claim struct {
	*Workload
	ready bool
}

// compareClaims decides which of two workloads gets an address that both claim. It is negative if a gets the
// address, and zero if no rule decides. The usual pair is a pod of a lost node that is not marked for
// deletion yet, and a new pod with the same address.
func compareClaims(a, b claim) int {
	return cmp.Or(
		first(!a.Terminating, !b.Terminating),
		first(a.ready, b.ready),
		first(a.Running, b.Running),
		b.Created.Compare(a.Created),
	)
}

// first orders true before false.
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

// claimants returns the workloads that pass keep and claim their address, in the order of [compareClaims],
// then by name, so that the result does not depend on the order of Put. A terminating pod claims its address
// while it runs.
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

// conflicts returns the conflicts among the sorted claimants of an address. Terminating pods are ignored. If no
// rule decides between the first two, no claimant gets the address, and all conflicts are undecided.
func conflicts(ip netip.Addr, claimants []*workloadEntry) []AddressConflict {
	if len(claimants) < 2 {
		return nil
	}
	kept, next := claimants[0].workload, claimants[1].workload
	undecided := compareClaims(claim{kept, kept.Ready}, claim{next, next.Ready}) == 0
	var list []AddressConflict
	for _, e := range claimants[1:] {
		if e.workload.Terminating {
			break
		}
		list = append(list, AddressConflict{IP: ip, Winner: kept.ID(), Loser: e.workload.ID(), Undecided: undecided})
	}
	return list
}
