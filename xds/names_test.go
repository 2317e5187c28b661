package xds

import (
	"strings"
	"testing"
	"testing/synctest"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// listener subscribes to a Listener and returns the Cluster that it leads to, "" for none.
func (a *ads) listener(t *testing.T, name string) string {
	t.Helper()
	a.send(listeners, name)
	r := a.one(listeners)
	if names := namesIn(r.GetResources()); len(names) != 1 || names[0] != name {
		t.Fatalf("asked for %s, answered %s", name, names)
	}
	return clusterIn(t, r.GetResources()[0])
}

// Case 2: each form of a name has a Listener of exactly that name, and all lead to one Cluster and
// share its endpoints.
func TestFormsOfNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		for _, name := range []string{
			"web.shop:50051", "web.shop.svc:50051", "web.shop.svc.cluster.local:50051", "web.shop:grpc", "web.shop.svc.cluster.local:grpc", "web.shop",
		} {
			a := f.ads()
			if got := a.listener(t, name); got != grpcCluster {
				t.Errorf("%s leads to %s, want %s", name, got, grpcCluster)
			}
			a.send(clusters, grpcCluster)
			if got := clusterOf(t, a.one(clusters).GetResources()[0]); got.GetName() != grpcCluster {
				t.Errorf("%s: Cluster %s", name, got.GetName())
			}
			a.send(endpoints, grpcCluster)
			if got := strings.Join(addressesIn(t, a.one(endpoints).GetResources()[0]), " "); got != "10.0.0.1:50051 10.0.0.2:50051" {
				t.Errorf("%s: endpoints %s", name, got)
			}
		}
		if n := f.metric(`xds_resources{type="eds"}`); n != 1 {
			t.Errorf("%v ClusterLoadAssignments are kept, want 1 for all", n)
		}
	})
}

// Cases 3, 6 and 10: a name without a usable port, without a Service, or with an ExternalName is
// answered at once, with a Cluster that is called by the reason and has no endpoints.
func TestReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		external := service("shop", "ext", "http:80")
		external.ExternalName = true
		f := start(t, Config{}, service("shop", "two", "http:81", "admin:8081"), external)
		for name, want := range map[string]string{
			"two.shop":     "say which port",
			"nope.shop:80": "nope",
			"ext.shop:80":  "ExternalName",
			"not a name":   "",
		} {
			a := f.ads()
			reason := a.listener(t, name)
			if reason == "" || !strings.Contains(reason, want) {
				t.Errorf("%s: the reason is %q, want one with %q", name, reason, want)
			}
			a.send(clusters, reason)
			if got := clusterOf(t, a.one(clusters).GetResources()[0]); got.GetName() != reason {
				t.Errorf("%s: Cluster %q, want %q", name, got.GetName(), reason)
			}
			a.send(endpoints, reason)
			if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 0 {
				t.Errorf("%s: endpoints %s", name, got)
			}
		}
	})
}

// §5.1: a client of Go gets routes without a virtual host instead, and Envoy nothing.
func TestReasonsByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{})
		a := f.ads()
		r := request{}.listener("gRPC Go", "nope.shop:80")
		a.request(r)
		if got := clusterIn(t, a.one(listeners).GetResources()[0]); got != "" {
			t.Errorf("Go is led to %q", got)
		}
		e := f.ads()
		e.request(request{}.listener("envoy", "nope.shop:80"))
		e.none("a name that doesn't exist, for Envoy")
	})
}

// Case 7: when the Service appears, the same stream gets the real Listener, without another
// request.
func TestServiceAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{})
		a := f.ads()
		reason := a.listener(t, "web.shop:80")
		a.ack(listeners, "web.shop:80")
		a.send(clusters, reason)
		a.take()
		_, objects := shop()
		f.change(objects)
		if got := clusterIn(t, a.one(listeners).GetResources()[0]); got != httpCluster {
			t.Errorf("the Listener leads to %s, want %s", got, httpCluster)
		}
	})
}

// Case 29 and §5.4: what a client uses isn't deleted: the endpoints become none, and come back with
// the Service.
func TestServiceIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.listener(t, "web.shop:80")
		a.send(clusters, httpCluster)
		a.send(endpoints, httpCluster)
		a.take()
		f.change(nil, web.ID())
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 0 {
			t.Errorf("endpoints %s of a deleted Service", got)
		}
		f.change(put(web))
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 2 {
			t.Errorf("endpoints %s of the Service that came back", got)
		}
		a.cancel()
		f.change(nil, web.ID())
		if got := f.ads().listener(t, "web.shop:80"); got == httpCluster {
			t.Error("a new stream gets the Listener of a deleted Service")
		}
	})
}

// Case 4: the hostname of a headless Service's endpoint is one endpoint, and follows its
// replacement.
func TestHostnameOfEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		named := func(address string) *catalog.EndpointSlice {
			s := slice(web, "s", "http", 8080, address, "10.0.0.9")
			s.Subsets[0].Endpoints[0].Hostname = "web-0"
			return s
		}
		f := start(t, Config{}, web, named("10.0.0.1"))
		a := f.ads()
		cluster := a.listener(t, "web-0.web.shop.svc.cluster.local:80")
		a.send(endpoints, cluster)
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 1 || got[0] != "10.0.0.1:8080" {
			t.Errorf("endpoints %s", got)
		}
		f.change(put(named("10.0.0.5")))
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 1 || got[0] != "10.0.0.5:8080" {
			t.Errorf("endpoints %s of the replacement", got)
		}
	})
}

// Case 5: a name without a namespace is that of a Service in the namespace of the pod that has the
// client's address, or of the namespace that the client says.
func TestShortNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, append(objects, callingPod("shop", "node-1"))...)
		if got := f.ads().listener(t, "web:80"); got != httpCluster {
			t.Errorf("from a pod in shop: %s", got)
		}
		a := f.ads()
		r := request{}.listener(pythonAgent, "web:80")
		r.Node = node(pythonAgent, map[string]string{"NAMESPACE": "other"})
		a.request(r)
		if got := clusterIn(t, a.one(listeners).GetResources()[0]); !strings.Contains(got, "other") {
			t.Errorf("from the namespace other: %q", got)
		}
		f.change(nil, callingPod("shop", "").ID())
		if got := f.ads().listener(t, "web:80"); got == httpCluster || got == "" {
			t.Errorf("from an unknown address: %q", got)
		}
	})
}

// Case 8: names with an authority lead to names with the same authority.
func TestAuthorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{Namer: resource.Namer{Authorities: []string{"a"}}}, objects...)
		a := f.ads()
		cluster := a.listener(t, "xdstp://a/envoy.config.listener.v3.Listener/web.shop:80")
		if !strings.HasPrefix(cluster, "xdstp://a/envoy.config.cluster.v3.Cluster/") {
			t.Fatalf("the Cluster is %s", cluster)
		}
		a.send(clusters, cluster)
		of := clusterOf(t, a.one(clusters).GetResources()[0]).GetEdsClusterConfig().GetServiceName()
		if of != endpointsOf(cluster) {
			t.Errorf("service_name is %q, want %q", of, endpointsOf(cluster))
		}
		a.send(endpoints, of)
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 2 {
			t.Errorf("endpoints %s", got)
		}
		if got := f.ads().listener(t, "xdstp://b/envoy.config.listener.v3.Listener/web.shop:80"); strings.HasPrefix(got, "xdstp:") {
			t.Errorf("another authority leads to %s", got)
		}
	})
}

// Case 9: a name with the authority of a linked cluster has the endpoints of the Service there.
// Before the cluster is synced, nothing false is said about it; after it is unlinked, the endpoints
// become none.
func TestLinkedClusters(t *testing.T) {
	for name, tt := range map[string]struct {
		port     string
		unsynced bool // whether the Listener comes before the cluster is synced
	}{"a port number": {"80", true}, "the name of a port": {"http", false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := service("shop", "web", "http:80")
				web.Key.Cluster = "east"
				served := slice(web, "web", "http", 8080, "10.9.0.1")
				served.Cluster = "east"
				east := func(synced bool) *catalog.Cluster {
					return &catalog.Cluster{Name: "east", TrustDomain: "east", ClusterDomain: "cluster.local", Synced: synced}
				}
				const authority = "xdstp://east.clusters.signpost/"
				const of = authority + "envoy.config.cluster.v3.Cluster/" + httpCluster
				f := start(t, Config{}, east(false))
				a, c := f.ads(), f.ads()
				a.send(listeners, authority+"envoy.config.listener.v3.Listener/web.shop:"+tt.port)
				if got := a.take(); (len(got) == 1) != tt.unsynced {
					t.Errorf("before the cluster is synced: %s", transcript(got))
				}
				c.send(clusters, of)
				if got := clusterOf(t, c.one(clusters).GetResources()[0]).GetEdsClusterConfig().GetServiceName(); got != endpointsOf(of) {
					t.Errorf("the endpoints have the name %s", got)
				}
				c.send(endpoints, endpointsOf(of))
				c.none("endpoints before the cluster is synced")

				f.change(put(east(true), web, served))
				if got := a.take(); (len(got) == 1) == tt.unsynced {
					t.Errorf("after the cluster is synced: %s", transcript(got))
				} else if !tt.unsynced && clusterIn(t, got[0].GetResources()[0]) != of {
					t.Errorf("the Listener leads to %s", clusterIn(t, got[0].GetResources()[0]))
				}
				if got := strings.Join(addressesIn(t, c.one(endpoints).GetResources()[0]), " "); got != "10.9.0.1:8080" {
					t.Errorf("the endpoints are %s", got)
				}
				f.catalog.Replace("east", nil)
				f.rest()
				if got := addressesIn(t, c.one(endpoints).GetResources()[0]); len(got) != 0 {
					t.Errorf("after the cluster is unlinked there are %s", got)
				}
				a.none("the Listener of an unlinked cluster")
			})
		})
	}
}

// What each kind of client gets of each type, for a Service with a policy and for none.
func TestResourcesByClient(t *testing.T) {
	for agent, want := range map[string]struct{ references, missing string }{
		"gRPC Go":   {grpcCluster, "no host"},
		pythonAgent: {grpcCluster, "no Service nope in namespace shop"},
		"envoy":     {grpcCluster, "nothing"},
	} {
		t.Run(agent, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, objects := shop()
				web.Policy = &catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.LeastRequest}}
				f := start(t, Config{}, objects...)
				ask := func(typ resourceType, name string) *anypb.Any {
					a := f.ads()
					defer a.cancel()
					a.request(&discovery.DiscoveryRequest{Node: node(agent, nil), TypeUrl: typ.URL(), ResourceNames: []string{name}})
					got := a.take()
					if len(got) == 0 {
						return nil
					}
					return got[0].GetResources()[0]
				}
				if got := clusterIn(t, ask(listeners, "web.shop:50051")); got != want.references {
					t.Errorf("the Listener leads to %s", got)
				}
				r := decode(t, ask(routes, "web.shop:50051"), &routepb.RouteConfiguration{})
				if got := r.GetVirtualHosts()[0].GetRoutes()[0].GetRoute().GetCluster(); got != want.references || r.GetName() != "web.shop:50051" {
					t.Errorf("the RouteConfiguration %s leads to %s", r.GetName(), got)
				}
				if got := clusterOf(t, ask(clusters, grpcCluster)); got.GetLoadBalancingPolicy() == nil {
					t.Errorf("the Cluster has no policy: %v", got)
				}
				missing := "nothing"
				if got := ask(listeners, "nope.shop:80"); got != nil {
					if missing = clusterIn(t, got); missing == "" {
						missing = "no host"
					}
				}
				if missing != want.missing {
					t.Errorf("a Listener of a missing Service: %s, want %s", missing, want.missing)
				}
				if got := ask(routes, "nope.shop:80"); got != nil {
					t.Errorf("routes of a missing Service: %v", got)
				}
				if got := clusterOf(t, ask(clusters, "nope.shop:80")); got.GetName() != "nope.shop:80" || got.GetType() != clusterpb.Cluster_EDS {
					t.Errorf("the Cluster of a missing Service: %v", got)
				}
			})
		})
	}
}
