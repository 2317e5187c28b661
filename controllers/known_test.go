package controllers

import (
	"testing"

	"github.com/signpostd/signpost/kube"
)

// A new leader without the right to read ExternalWorkloads writes no slices for them. It wrote slices of
// former states over newer ones (found by the lab: rights, a stolen Lease and a restored etcd at once).
func TestWorkloadsKnown(t *testing.T) {
	for _, test := range []struct {
		status kube.TableStatus
		want   bool
	}{
		{kube.TableStatus{State: kube.Synced, Filled: true}, true},
		{kube.TableStatus{State: kube.Waiting, Reason: kube.NotFound}, true},
		{kube.TableStatus{State: kube.Waiting, Reason: kube.Forbidden, Filled: true}, false},
		{kube.TableStatus{State: kube.Waiting, Reason: kube.OtherVersion, Filled: true}, false},
		{kube.TableStatus{State: kube.Connecting, Filled: true}, false},
		{kube.TableStatus{State: kube.Connecting}, false},
	} {
		if got := workloadsKnown(test.status); got != test.want {
			t.Errorf("%+v: %v", test.status, got)
		}
	}
}
