package nodes

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

func (a *apiServer) renewed(index int, since time.Time) bool {
	var lease coordinationv1.Lease
	a.load(leasesPath+"/"+nodeName(index), &lease)
	return lease.Spec.RenewTime != nil && !lease.Spec.RenewTime.Time.Before(since.Truncate(time.Microsecond)) &&
		*lease.Spec.HolderIdentity == nodeName(index) && *lease.Spec.LeaseDurationSeconds > 0
}

// Leases are made and renewed beside another writer, and one that cannot be written stops no other.
func TestHeartbeat(t *testing.T) {
	api := newAPIServer(t)
	api.anotherWriter(leasesPath)
	api.refused[leasesPath+"/node-1"] = true
	s := api.simulator(3)
	for beat := range 2 {
		begin := time.Now()
		s.heartbeat(t.Context())
		for index, want := range []bool{true, false, true} {
			if api.renewed(index, begin) != want {
				t.Errorf("beat %d: lease of %s renewed: %v, want %v", beat, nodeName(index), !want, want)
			}
		}
	}
}
