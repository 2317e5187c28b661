package witness

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/xds"
)

const missingTarget = "nobody.lab.svc.cluster.local:80"

// newXDSReplica serves xDS.
func newXDSReplica(t *testing.T, name string) *replica {
	t.Helper()
	return newReplicaOf(t, name, func(c *catalog.Catalog) server {
		return xds.NewServer(c, xds.Config{EnableIPv6: true}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	})
}

// awaitAssignment waits until a client knows exactly these addresses of web.
func (h recorded) awaitAssignment(client int, want ...string) history.Stream {
	h.Helper()
	return h.awaitLastOf(client, target, func(s history.Stream) bool {
		return s.Event == history.StreamUpdated && slices.Equal(slices.Sorted(maps.Keys(s.Addresses)), want)
	})
}

// awaitLastOf waits until the last event of a client and a name meets a condition, and returns it.
func (h recorded) awaitLastOf(client int, name string, so func(history.Stream) bool) (last history.Stream) {
	h.Helper()
	eventually(h.T, func() string {
		last = history.Stream{}
		for _, s := range h.by(client) {
			if s.Target == name {
				last = s
			}
		}
		if !so(last) {
			return fmt.Sprintf("what is awaited of %s by client %d, the last is %+v", name, client, last)
		}
		return ""
	})
	return last
}

// TestAssignments shows that clients of both variants know the endpoints of each of their names, and keep
// them when their stream ends. A delta client that reconnects, also to another replica, receives only the
// differences (spec/xds.md cases 48 and 64).
func TestAssignments(t *testing.T) {
	t.Parallel()
	h := recorded{t, historytest.NewRecorder(t)}
	a, b := newXDSReplica(t, "a"), newXDSReplica(t, "b")
	both := func(ips ...string) {
		a.endpoints(ips...)
		b.endpoints(ips...)
	}
	both("10.64.0.1", "10.64.0.2")
	h.start(
		Client{Replicas: []Replica{a.as()}, Call: CallEDS, Names: []string{target, missingTarget}},
		Client{Replicas: []Replica{a.as(), b.as()}, Call: CallDeltaEDS, Names: []string{target, missingTarget}},
		Client{Replicas: []Replica{b.as()}, Call: CallEDS, Names: []string{target}}, // shows the progress of b
	)
	first := h.awaitAssignment(0, "10.64.0.1:8080", "10.64.0.2:8080")
	if want := (history.AssignedEndpoint{LocalityWeight: 2}).Text(); first.Addresses["10.64.0.1:8080"] != want || first.Version == "" || first.Call != CallEDS || first.Replica != "a" {
		t.Errorf("the first update is %+v, want endpoints %s", first, want)
	}
	delta := h.awaitAssignment(1, "10.64.0.1:8080", "10.64.0.2:8080")
	if delta.Version != first.Version || delta.ID == first.ID {
		t.Errorf("the delta client has version %s in stream %d, the other %s in %d", delta.Version, delta.ID, first.Version, first.ID)
	}
	for client := range 2 {
		empty := h.awaitLastOf(client, missingTarget, func(s history.Stream) bool { return s.Event == history.StreamUpdated })
		if len(empty.Addresses) > 0 || empty.Version == "" {
			t.Errorf("client %d: %+v", client, empty)
		}
	}
	both("10.64.0.2", "10.64.0.3")
	moved := h.awaitAssignment(1, "10.64.0.2:8080", "10.64.0.3:8080")
	h.awaitAssignment(0, "10.64.0.2:8080", "10.64.0.3:8080")
	h.awaitAssignment(2, "10.64.0.2:8080", "10.64.0.3:8080")
	a.die()
	reopened := h.awaitLastOf(1, target, func(s history.Stream) bool { return s.Event == history.StreamOpened && s.Replica == "b" })
	if diff := cmp.Diff(moved.Addresses, reopened.Addresses); diff != "" || reopened.Version != moved.Version || reopened.ID == moved.ID {
		t.Errorf("the client reopens as %+v (-before +then):\n%s", reopened, diff)
	}
	b.endpoints("10.64.0.3")
	h.awaitAssignment(1, "10.64.0.3:8080")
	h.said(1, "b", history.StreamOpened, history.StreamUpdated)
	a.endpoints("10.64.0.3")
	a.serve()
	h.awaitAssignment(0, "10.64.0.3:8080")
}

// said requires these events about web between a client and a replica.
func (h recorded) said(client int, replica string, want ...history.StreamEvent) {
	h.Helper()
	var got []history.StreamEvent
	for _, s := range h.by(client) {
		if s.Target == target && s.Replica == replica {
			got = append(got, s.Event)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("client %d (-want +got):\n%s", client, diff)
	}
}

// TestAssignedAddresses shows that an assignment that clients would reject is a problem, and that all
// addresses of an endpoint are recorded (spec/xds.md §4.2, spec/xds.md §4.4).
func TestAssignedAddresses(t *testing.T) {
	at := func(ip string, port uint32) *corepb.Address {
		return &corepb.Address{Address: &corepb.Address_SocketAddress{SocketAddress: &corepb.SocketAddress{
			Address: ip, PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: port},
		}}}
	}
	endpoint := func(health corepb.HealthStatus, first *corepb.Address, more ...*corepb.Address) *endpointpb.LbEndpoint {
		e := &endpointpb.Endpoint{Address: first, Hostname: "one"}
		for _, a := range more {
			e.AdditionalAddresses = append(e.AdditionalAddresses, &endpointpb.Endpoint_AdditionalAddress{Address: a})
		}
		return &endpointpb.LbEndpoint{HealthStatus: health, HostIdentifier: &endpointpb.LbEndpoint_Endpoint{Endpoint: e}}
	}
	of := func(endpoints ...*endpointpb.LbEndpoint) *endpointpb.ClusterLoadAssignment {
		return &endpointpb.ClusterLoadAssignment{Endpoints: []*endpointpb.LocalityLbEndpoints{{
			Locality: &corepb.Locality{Region: "r", Zone: "z"}, Priority: 1, LoadBalancingWeight: wrapperspb.UInt32(1), LbEndpoints: endpoints,
		}}}
	}
	got, err := assignedAddresses(of(endpoint(corepb.HealthStatus_DRAINING, at("10.0.0.1", 80), at("fd00::1", 80))))
	want := history.AssignedEndpoint{Draining: true, Region: "r", Zone: "z", Priority: 1, Hostname: "one", LocalityWeight: 1}
	other := want
	other.First = "10.0.0.1:80"
	if diff := cmp.Diff(map[string]string{"10.0.0.1:80": want.Text(), "[fd00::1]:80": other.Text()}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	unnamed := of(endpoint(0, at("10.0.0.1", 80)))
	unnamed.Endpoints[0].Locality = nil
	for _, tt := range []struct {
		said *endpointpb.ClusterLoadAssignment
		want string
	}{
		{of(endpoint(0, at("10.0.0.1", 80)), endpoint(0, at("10.0.0.1", 80))), "twice"},
		{of(endpoint(0, at("nonsense", 80))), "is no address"},
		{of(endpoint(0, at("10.0.0.1", 1<<16))), "is no address"},
		{unnamed, "no name"},
	} {
		if _, err := assignedAddresses(tt.said); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the error is %v, want one with %q", err, tt.want)
		}
	}
}
