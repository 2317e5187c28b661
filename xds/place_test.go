package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/signpostd/signpost/catalog"
)

// prioritiesIn returns the endpoints of the only ClusterLoadAssignment of a response, by priority.
func prioritiesIn(t *testing.T, r *discovery.DiscoveryResponse) string {
	t.Helper()
	var lines []string
	for _, l := range decode(t, r.GetResources()[0], &endpointpb.ClusterLoadAssignment{}).GetEndpoints() {
		for _, e := range l.GetLbEndpoints() {
			lines = append(lines, fmt.Sprintf("%d:%s", l.GetPriority(), e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// hinted is a slice with an endpoint for each zone.
func hinted(of *catalog.Service) *catalog.EndpointSlice {
	s := slice(of, "s", "http", 8080, "10.0.0.1", "10.0.0.2")
	for i, zone := range []string{"a", "b"} {
		s.Subsets[0].Endpoints[i].Zone, s.Subsets[0].Endpoints[i].HintZones = zone, []string{zone}
	}
	return s
}

// Cases 20 and 23: the endpoints for the client's zone have priority 0, wherever its place is known
// from. When its node gets another zone, it gets them anew on the same stream, and nothing else.
func TestPlaces(t *testing.T) {
	web := service("shop", "web", "http:80")
	zoneA, zoneB := &catalog.Node{Cluster: catalog.LocalCluster, Name: "n", Zone: "a"}, &catalog.Node{Cluster: catalog.LocalCluster, Name: "n", Zone: "b"}
	const inA, inB, nowhere = "0:10.0.0.1 1:10.0.0.2", "0:10.0.0.2 1:10.0.0.1", "0:10.0.0.1 0:10.0.0.2"
	for name, tt := range map[string]struct {
		node    *corepb.Node
		more    []catalog.Object
		want    string
		follows string // after the node has moved to zone b; "" for nothing new
	}{
		"the client says its zone":  {&corepb.Node{Locality: &corepb.Locality{Zone: "b"}}, nil, inB, ""},
		"the client says its node":  {node("gRPC Go", map[string]string{"NODE_NAME": "n"}), nil, inA, inB},
		"the pod with its address":  {node("gRPC Go", nil), put(callingPod("shop", "n")), inA, inB},
		"nobody knows":              {node("gRPC Go", nil), nil, nowhere, ""},
		"a zone without endpoints":  {&corepb.Node{Locality: &corepb.Locality{Zone: "z"}}, nil, nowhere, ""},
		"a node that doesn't exist": {node("gRPC Go", map[string]string{"NODE_NAME": "x"}), nil, nowhere, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, Config{}, append(put(web, hinted(web), zoneA), tt.more...)...)
				a := f.ads()
				a.request(&discovery.DiscoveryRequest{Node: tt.node, TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}})
				if got := prioritiesIn(t, a.one(endpoints)); got != tt.want {
					t.Errorf("endpoints %s, want %s", got, tt.want)
				}
				a.listener(t, "web.shop:80")
				f.change(put(zoneB))
				if tt.follows == "" {
					a.none("a node moves that isn't the client's")
				} else if got := prioritiesIn(t, a.one(endpoints)); got != tt.follows {
					t.Errorf("after the move endpoints %s, want %s", got, tt.follows)
				}
			})
		})
	}
}

// Hints that appear and disappear move the client to another view, and back.
func TestHintsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		f := start(t, Config{}, web, slice(web, "s", "http", 8080, "10.0.0.1", "10.0.0.2"))
		a := f.ads()
		a.request(&discovery.DiscoveryRequest{Node: &corepb.Node{Locality: &corepb.Locality{Zone: "a"}}, TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}})
		a.one(endpoints)
		f.change(put(hinted(web)))
		if got := prioritiesIn(t, a.take()[0]); got != "0:10.0.0.1 1:10.0.0.2" {
			t.Errorf("with hints: %s", got)
		}
		a.take()
		f.change(put(slice(web, "s", "http", 8080, "10.0.0.1", "10.0.0.2")))
		got := a.take()
		if last := prioritiesIn(t, got[len(got)-1]); last != "0:10.0.0.1 0:10.0.0.2" {
			t.Errorf("without hints: %s", last)
		}
	})
}

// Case 17: the last endpoint is sent as usable while it drains, and then there is none.
func TestLastEndpointDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		a.take()
		s := slice(web, "web-http", "http", 8080, "10.0.0.1")
		s.Subsets[0].Endpoints[0].NotReady, s.Subsets[0].Endpoints[0].Draining = true, true
		f.change(put(s))
		r := a.one(endpoints)
		e := decode(t, r.GetResources()[0], &endpointpb.ClusterLoadAssignment{}).GetEndpoints()
		if len(e) != 1 || e[0].GetLbEndpoints()[0].GetHealthStatus() != corepb.HealthStatus_UNKNOWN {
			t.Errorf("the last endpoint drains: %v", e)
		}
		f.change(put(slice(web, "web-http", "http", 8080)))
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 0 {
			t.Errorf("then endpoints %s", got)
		}
	})
}
