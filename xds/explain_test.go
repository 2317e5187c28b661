package xds

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/catalog"
)

// What is explained is what clients at each place get.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		s := slice(web, "web", "http", 8080, "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
		for i := range s.Subsets[0].Endpoints {
			e := &s.Subsets[0].Endpoints[i]
			e.HintZones = []string{[]string{"a", "a", "b", "b"}[i]}
			e.NotReady, e.Draining = i == 3, i == 3
		}
		profile := &catalog.ServiceProfile{
			Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web.shop.svc.cluster.local",
			DstOverrides: []catalog.WeightedDst{{Authority: "api.shop.svc.cluster.local:90", MilliWeight: 1000}},
			Routes:       []catalog.Route{{Name: "odd", Condition: &catalog.RequestMatch{Not: &catalog.RequestMatch{PathRegex: "x"}}}},
		}
		f := start(t, Config{}, web, s, profile)
		got := f.server.Explain(web.Key, "", 80)
		zone := func(z string) catalog.Filter { return catalog.Filter{Kind: catalog.FilterZone, Zone: z} }
		want := []PlaceResponse{
			{Usable: []int{3}, Draining: 1}, {Filter: zone("a"), Usable: []int{2, 1}, Draining: 1}, {Filter: zone("b"), Usable: []int{1, 2}, Draining: 1},
		}
		if diff := cmp.Diff(want, got.Places); diff != "" || got.Cluster != httpCluster || got.Refusal != nil {
			t.Errorf("%+v (-want +got):\n%s", got, diff)
		}
		if len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "odd") {
			t.Errorf("problems %q", got.Problems)
		}
		if diff := cmp.Diff([]string{"api.shop.svc.cluster.local:90"}, got.Overrides); diff != "" {
			t.Errorf("overrides (-want +got):\n%s", diff)
		}
		for at, place := range map[string]PlaceResponse{"": want[0], "b": want[2]} {
			a := f.ads()
			a.request(&discovery.DiscoveryRequest{
				Node: &corepb.Node{UserAgentName: pythonAgent, Locality: &corepb.Locality{Zone: at}}, TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster},
			})
			if n := len(addressesIn(t, a.one(endpoints).GetResources()[0])); n != place.Usable[0]+place.Draining+sum(place.Usable[1:]) {
				t.Errorf("a client in %q gets %d endpoints", at, n)
			}
		}
		missing := f.server.Explain(catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "nope"}, "", 80)
		if missing.Refusal == nil || missing.Refusal.Error() != "no Service nope in namespace shop" {
			t.Errorf("a missing Service: %v", missing.Refusal)
		}
		if other := f.server.Explain(web.Key, "", 81); other.Refusal == nil {
			t.Errorf("another port: %+v", other)
		}
	})
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// §10.3: it is shown which resources clients have rejected, until they are sent another version.
func TestRejectionsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		a, b := f.ads(), f.ads()
		for _, stream := range []*ads{a, b} {
			stream.send(endpoints, httpCluster)
			stream.take()
		}
		expect := func(when string, want ...string) {
			t.Helper()
			streams, rejected := f.server.Subscribers(web.Key)
			if diff := cmp.Diff(want, rejected); diff != "" || streams != 2 {
				t.Errorf("%s: %d streams (-want +got):\n%s", when, streams, diff)
			}
		}
		expect("at first")
		a.nack(endpoints, "no", httpCluster)
		expect("after a rejection", "ClusterLoadAssignment "+httpCluster+", by clients of the kind cpp: 1")
		b.nack(endpoints, "no", httpCluster)
		expect("after two", "ClusterLoadAssignment "+httpCluster+", by clients of the kind cpp: 2")
		shown := 0
		for _, o := range f.server.OpenStreams() {
			shown += len(o.Rejected)
		}
		if shown != 2 {
			t.Errorf("%d rejections are shown at streams", shown)
		}
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.1")))
		time.Sleep(maxDelay)
		expect("after the next version")
	})
}
