package inspect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A status names this process first and then the other pods and holders of Leases, with what each
// leads. A pod of our pod template has our version.
func TestReplicas(t *testing.T) {
	at := time.Unix(1000, 0).UTC()
	yes, no := true, false
	status := Status{
		Version: "v1.2.3", Process: "signpost-a-1", Ready: false, Started: at,
		Leading: []Leading{
			{Role: "dns", Lease: "ns/dns", Leads: true, Leader: "signpost-a-1_XYZ", Since: &at},
			{Role: "destination", Lease: "ns/endpoint-write", Leader: "signpost-a-2"},
			{Role: "controllers", Lease: "ns/controllers", Leader: "elsewhere-1_ABC"},
			{Role: "xds"},
		},
	}
	pods := []Replica{{Process: "signpost-b-1", Ready: &yes, Revision: "b"}, {Process: "signpost-a-2", Ready: &no, Revision: "a"}, {Process: "signpost-a-1", Ready: &yes, Revision: "a", Node: "n1"}}
	s := New(Config{Status: func() Status { return status }, Replicas: func() []Replica { return pods }})
	want := []Replica{
		{Process: "signpost-a-1", Here: true, Ready: &no, Version: "v1.2.3", Revision: "a", Node: "n1", Started: &at, Leads: []ReplicaLease{{Role: "dns", Lease: "ns/dns", Since: &at}}},
		{Process: "elsewhere-1", Leads: []ReplicaLease{{Role: "controllers", Lease: "ns/controllers"}}},
		{Process: "signpost-a-2", Ready: &no, Version: "v1.2.3", Revision: "a", Leads: []ReplicaLease{{Role: "destination", Lease: "ns/endpoint-write"}}},
		{Process: "signpost-b-1", Ready: &yes, Revision: "b"},
	}
	if diff := cmp.Diff(want, s.Status(context.Background()).Replicas); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A status has at most MaxReplicas replicas.
func TestReplicasAreBounded(t *testing.T) {
	var pods []Replica
	for i := range 1000 {
		pods = append(pods, Replica{Process: fmt.Sprint("signpost-", i)})
	}
	s := New(Config{Status: func() Status { return Status{Process: "signpost-7"} }, Replicas: func() []Replica { return pods }})
	if got := s.Status(context.Background()).Replicas; len(got) != MaxReplicas || !got[0].Here {
		t.Errorf("%d replicas, of which the first is %+v; want %d, this process first", len(got), got[0], MaxReplicas)
	}
}
