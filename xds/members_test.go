package xds

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/signpostd/signpost/catalog"
)

// stateIn returns the endpoints of the only ClusterLoadAssignment of a response, such as
// "10.0.0.1:80 10.0.0.2:80+[fd00::2]:80 10.0.0.3:80/DRAINING": additional addresses follow a plus
// sign.
func stateIn(t *testing.T, r *discovery.DiscoveryResponse) string {
	t.Helper()
	text := func(a *corepb.Address) string {
		at := a.GetSocketAddress()
		return netip.AddrPortFrom(netip.MustParseAddr(at.GetAddress()), uint16(at.GetPortValue())).String()
	}
	var words []string
	for _, l := range decode(t, r.GetResources()[0], &endpointpb.ClusterLoadAssignment{}).GetEndpoints() {
		for _, e := range l.GetLbEndpoints() {
			word := text(e.GetEndpoint().GetAddress())
			for _, more := range e.GetEndpoint().GetAdditionalAddresses() {
				word += "+" + text(more.GetAddress())
			}
			if e.GetHealthStatus() != corepb.HealthStatus_UNKNOWN {
				word += "/" + e.GetHealthStatus().String()
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// workload returns a ready workload of the namespace shop.
func workload(kind catalog.WorkloadKind, name string, uid catalog.UID, addresses ...string) *catalog.Workload {
	w := &catalog.Workload{
		Key: catalog.WorkloadKey{Kind: kind, Cluster: catalog.LocalCluster, Namespace: "shop", Name: name}, UID: uid, Running: true, Ready: true,
	}
	for _, a := range addresses {
		w.IPs = append(w.IPs, netip.MustParseAddr(a))
	}
	return w
}

// targeting returns a copy of a slice whose endpoints have these targets, in order.
func targeting(s *catalog.EndpointSlice, targets ...*catalog.Workload) *catalog.EndpointSlice {
	made := *s
	made.Subsets = []catalog.Subset{{Ports: s.Subsets[0].Ports, Endpoints: slices.Clone(s.Subsets[0].Endpoints)}}
	for i, w := range targets {
		made.Subsets[0].Endpoints[i].Target, made.Subsets[0].Endpoints[i].TargetUID = w.Key, w.UID
	}
	return &made
}

// Case 26: the machines of ExternalWorkloads are endpoints as pods are, beside those: with one endpoint for
// both addresses, with DRAINING, and only while the ExternalWorkload exists. A port can be asked for by its
// name.
func TestExternalWorkloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80", "grpc:50051")
		pod := workload(catalog.Pod, "web-0", 1, "10.0.0.1")
		vm, old := workload(catalog.ExternalWorkload, "vm", 2, "192.0.2.1", "2001:db8::1"), workload(catalog.ExternalWorkload, "old", 3, "192.0.2.2")
		ipv6 := targeting(slice(web, "vm-6", "grpc", 9090, "2001:db8::1"), vm)
		ipv6.AddressType = catalog.IPv6
		machines := targeting(slice(web, "vm-4", "grpc", 9090, "192.0.2.1", "192.0.2.2"), vm, old)
		f := start(t, Config{EnableIPv6: true}, web, pod, vm, old, targeting(slice(web, "pods", "grpc", 50051, "10.0.0.1"), pod), machines, ipv6)
		a := f.ads()
		if got := a.listener(t, "web.shop:grpc"); got != grpcCluster {
			t.Fatalf("the name of the port leads to %s", got)
		}
		a.send(endpoints, grpcCluster)
		const ofPod, ofVM = "10.0.0.1:50051 ", "192.0.2.1:9090+[2001:db8::1]:9090"
		if got, want := stateIn(t, a.one(endpoints)), ofPod+ofVM+" 192.0.2.2:9090"; got != want {
			t.Errorf("endpoints %s, want %s", got, want)
		}

		drains := targeting(machines, vm, old)
		drains.Subsets[0].Endpoints[1].NotReady, drains.Subsets[0].Endpoints[1].Draining = true, true
		f.change(put(drains))
		if got, want := stateIn(t, a.one(endpoints)), ofPod+ofVM+" 192.0.2.2:9090/DRAINING"; got != want {
			t.Errorf("while a machine drains: %s, want %s", got, want)
		}
		f.change(nil, old.ID())
		if got, want := stateIn(t, a.one(endpoints)), ofPod+ofVM; got != want {
			t.Errorf("after an ExternalWorkload is deleted: %s, want %s", got, want)
		}
		pods := workload(catalog.Pod, "vm", 2, "192.0.2.1")
		f.change(put(pods), vm.ID())
		if got, want := stateIn(t, a.one(endpoints)), strings.TrimSpace(ofPod); got != want {
			t.Errorf("a pod with the name of an ExternalWorkload: %s, want %s", got, want)
		}
	})
}

// Case 27: a federated Service has the endpoints of its members. Those of a cluster come when it is synced,
// and go when it is unlinked. Before one of several clusters is synced, the endpoints of the others are
// served.
func TestFederatedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// member returns the Service web of a cluster with its endpoint.
		member := func(cluster, address string) []catalog.Object {
			s := service("shop", "web", "http:80")
			s.Key.Cluster = cluster
			of := slice(s, "web", "http", 8080, address)
			of.Cluster = cluster
			return put(s, of)
		}
		linked := func(name string, synced bool) *catalog.Cluster {
			return &catalog.Cluster{Name: name, TrustDomain: name, ClusterDomain: "cluster.local", Synced: synced}
		}
		all := service("shop", "all", "http:80")
		all.Federation = &catalog.Federation{Local: "web", Remote: []catalog.RemoteMember{{Service: "web", Cluster: "east"}, {Service: "web", Cluster: "west"}}}
		remote := service("shop", "remote", "http:80")
		remote.Federation = &catalog.Federation{Remote: []catalog.RemoteMember{{Service: "web", Cluster: "east"}}}
		f := start(t, Config{}, slices.Concat(put(all, remote, linked("east", false), linked("west", true)),
			member(catalog.LocalCluster, "10.0.0.1"), member("west", "10.8.0.1"))...)

		union, east := f.ads(), f.ads()
		expect := func(of *ads, what, want string) {
			t.Helper()
			if got := stateIn(t, of.one(endpoints)); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		if got := union.listener(t, "all.shop:http"); got != "all.shop.svc.cluster.local:80" {
			t.Fatalf("the name leads to %s", got)
		}
		union.send(endpoints, "all.shop.svc.cluster.local:80")
		expect(union, "before east is synced", "10.0.0.1:8080 10.8.0.1:8080")
		east.send(endpoints, "remote.shop.svc.cluster.local:80")
		east.none("endpoints in a cluster that isn't synced")

		f.change(append(member("east", "10.9.0.1"), linked("east", true)))
		expect(union, "all clusters are synced", "10.0.0.1:8080 10.8.0.1:8080 10.9.0.1:8080")
		expect(east, "its cluster is synced", "10.9.0.1:8080")
		f.change(member("west", "10.8.0.2"))
		expect(union, "a member changes", "10.0.0.1:8080 10.8.0.2:8080 10.9.0.1:8080")
		east.none("a member of another Service changes")

		f.catalog.Replace("east", nil)
		f.rest()
		expect(union, "east is unlinked", "10.0.0.1:8080 10.8.0.2:8080")
		expect(east, "its cluster is unlinked", "")
	})
}

// Case 28: an endpoint appears with its pod, if the slice comes first. A pod of that name with another UID
// isn't the pod.
func TestPodAfterItsSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		first, second := workload(catalog.Pod, "web-0", 1, "10.0.0.1"), workload(catalog.Pod, "web-1", 2, "10.0.0.2")
		f := start(t, Config{}, web, first)
		a := f.ads()
		a.send(endpoints, httpCluster)
		if got := stateIn(t, a.one(endpoints)); got != "" {
			t.Errorf("endpoints %s without a slice", got)
		}
		f.change(put(targeting(slice(web, "web", "http", 8080, "10.0.0.1", "10.0.0.2"), first, second)))
		if got := stateIn(t, a.one(endpoints)); got != "10.0.0.1:8080" {
			t.Errorf("before the second pod is known: %s", got)
		}
		f.change(put(workload(catalog.Pod, "web-1", 9, "10.0.0.2")))
		a.none("an older pod with the name of the second one")
		f.change(put(second))
		if got := stateIn(t, a.one(endpoints)); got != "10.0.0.1:8080 10.0.0.2:8080" {
			t.Errorf("after the second pod is known: %s", got)
		}
	})
}

// Case 30: when a port is renamed, a client loses no endpoint if a slice with the new name is written before
// the Service. If the Service is written first, no port of its slices has the name, so there are no endpoints
// in between, as in kube-proxy. The name of the port before keeps leading to the port that clients use.
func TestRenamedPort(t *testing.T) {
	web, renamed := service("shop", "web", "grpc:50051"), service("shop", "web", "rpc:50051")
	before, after := slice(web, "before", "grpc", 8080, "10.0.0.1"), slice(web, "after", "rpc", 8080, "10.0.0.1")
	both := slice(web, "before", "grpc", 8080, "10.0.0.1")
	both.Subsets[0].Ports = append(both.Subsets[0].Ports, catalog.SubsetPort{Name: "rpc", Port: 8080})
	const same, none, all = "nothing", "", "10.0.0.1:8080"
	type step struct {
		put    []catalog.Object
		remove []catalog.ID
		want   string
	}
	for name, steps := range map[string][]step{
		"a slice with the new name first":   {{put(after), nil, same}, {put(renamed), nil, same}, {nil, []catalog.ID{before.ID()}, same}},
		"both names in a slice in between":  {{put(both), nil, same}, {put(renamed), nil, same}, {put(after), []catalog.ID{before.ID()}, same}},
		"the Service first, then the slice": {{put(renamed), nil, none}, {put(after), nil, all}, {nil, []catalog.ID{before.ID()}, same}},
		"the Service and the slice at once": {{put(renamed, after), nil, same}, {nil, []catalog.ID{before.ID()}, same}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, Config{}, web, before)
				a := f.ads()
				if got := a.listener(t, "web.shop:grpc"); got != grpcCluster {
					t.Fatalf("the name of the port leads to %s", got)
				}
				a.send(endpoints, grpcCluster)
				if got := stateIn(t, a.one(endpoints)); got != all {
					t.Fatalf("endpoints %s", got)
				}
				for i, s := range steps {
					f.change(s.put, s.remove...)
					if got := a.take(); len(got) == 0 && s.want != same || len(got) == 1 && stateIn(t, got[0]) != s.want || len(got) > 1 {
						t.Errorf("after step %d: %v, want endpoints %q", i+1, got, s.want)
					}
				}
				if got := f.ads().listener(t, "web.shop:rpc"); got != grpcCluster {
					t.Errorf("the new name of the port leads to %s", got)
				}
			})
		})
	}
}
