package destination

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// inCluster moves a new object to a cluster.
func inCluster(v catalog.Object, cluster string) catalog.Object {
	switch v := v.(type) {
	case *catalog.Service:
		v.Key.Cluster = cluster
	case *catalog.EndpointSlice:
		v.Cluster, v.Service.Cluster = cluster, cluster
		for _, s := range v.Subsets {
			for i := range s.Endpoints {
				s.Endpoints[i].Target.Cluster = cluster
			}
		}
	case *catalog.Workload:
		v.Key.Cluster = cluster
	case *catalog.Owner:
		v.Cluster = cluster
	case *catalog.Server:
		v.Cluster = cluster
	}
	return v
}

func linked(name string) *catalog.Cluster {
	return &catalog.Cluster{Name: name, TrustDomain: name + ".trust", ClusterDomain: name + ".local", Synced: true}
}

func remote(cluster, name string) func(*catalog.Service) {
	return func(s *catalog.Service) { s.RemoteCluster, s.RemoteService = &cluster, &name }
}

// federated sets members in the form of the annotation.
func federated(local string, members ...string) func(*catalog.Service) {
	return func(s *catalog.Service) {
		s.Federation = &catalog.Federation{Local: local}
		for _, m := range members {
			name, cluster, _ := strings.Cut(m, "@")
			s.Federation.Remote = append(s.Federation.Remote, catalog.RemoteMember{Service: name, Cluster: cluster})
		}
	}
}

// member returns the Service bb of a cluster, with one pod.
func member(cluster, ip string) []catalog.Object {
	s := slice("bb", at(ip, podKey("bb-"+cluster), inZone("zone-1")))
	s.Service = serviceKey("bb")
	return []catalog.Object{inCluster(service("bb"), cluster), inCluster(pod("bb-"+cluster), cluster), inCluster(s, cluster)}
}

// wantSent checks the messages to the client since the last call.
func wantSent(t *testing.T, when string, c *client, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, transcript(c.newMessages())); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
	if c.ended() != "open" {
		t.Errorf("%s: the stream ended with %s", when, c.ended())
	}
}

// When a cluster is unlinked, its members are removed; when it is linked again, they are added (F1 to F4,
// Q20).
func TestFederatedMembersAddedAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), slices.Concat(
			member(catalog.LocalCluster, "10.0.0.1"), member("east", "10.1.0.1"), member("north", "10.2.0.1"),
			[]catalog.Object{linked("east"), service("web", federated("bb", "bb@east"))},
		)...)
		c := f.get(getPath, "")
		f.settle()
		wantSent(t, "F1", c, "add 10.0.0.1:8080 10.1.0.1:8080")
		f.change(put(service("web", federated("bb", "bb@east", "bb@north"))))
		wantSent(t, "F2, before north is linked", c)
		f.change(put(linked("north")))
		wantSent(t, "F2", c, "add 10.2.0.1:8080")
		f.change(put(service("web", federated("bb", "bb@north"))))
		wantSent(t, "F3", c, "remove 10.1.0.1:8080")
		f.change(put(service("web", federated("", "bb@north"))))
		wantSent(t, "F4, the local member leaves", c, "remove 10.0.0.1:8080")
		f.change(put(service("web", federated("bb", "bb@north"))))
		wantSent(t, "F4, it is back", c, "add 10.0.0.1:8080")
		f.catalog.Replace("north", nil)
		f.settle()
		wantSent(t, "Q20, the cluster is unlinked", c, "remove 10.2.0.1:8080")
		f.change(append(member("north", "10.2.0.2"), linked("north")))
		wantSent(t, "Q20, it is linked again", c, "add 10.2.0.2:8080")
		f.change(nil, service("web").ID())
		wantSent(t, "the Service is deleted", c, "remove 10.0.0.1:8080 10.2.0.2:8080")
	})
}

// A stream follows its Service when it changes between local, remote and federated (Q34).
func TestStreamFollowsItsService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), slices.Concat(
			member(catalog.LocalCluster, "10.0.0.1"), member("east", "10.1.0.1"),
			[]catalog.Object{linked("east"), service("web"), pod("a"), slice("s", at("10.9.0.1", podKey("a")))},
		)...)
		c := f.get(getPath, "")
		f.settle()
		wantSent(t, "local", c, "add 10.9.0.1:8080")
		f.change(put(service("web", remote("east", "bb"))))
		wantSent(t, "remote", c, "add 10.1.0.1:8080", "remove 10.9.0.1:8080")
		f.change(put(service("web", federated("bb", "bb@east"))))
		wantSent(t, "federated", c, "add 10.0.0.1:8080")
		f.change(put(service("web", remote("south", "bb"))))
		wantSent(t, "remote, not linked", c, "remove 10.0.0.1:8080 10.1.0.1:8080")
		f.change(put(service("web")))
		wantSent(t, "local again", c, "add 10.9.0.1:8080")
	})
}

// A cluster that isn't synced is not empty: nothing is sent while a member may have unknown endpoints (Q1),
// unless other members have endpoints.
func TestPendingMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joining := func() *catalog.Cluster { return &catalog.Cluster{Name: "east", TrustDomain: "east.trust"} }
		f := start(t, testConfig(), slices.Concat(member(catalog.LocalCluster, "10.0.0.1"), member("east", "10.1.0.1"),
			[]catalog.Object{joining(), service("far", remote("east", "bb")), service("none", remote("east", "none")), service("web", federated("bb", "bb@east"))})...)
		far, none, both := f.get("far.ns.svc.mycluster.local:80", ""), f.get("none.ns.svc.mycluster.local:80", ""), f.get(getPath, "")
		f.settle()
		wantSent(t, "remote, before the sync", far)
		wantSent(t, "no such Service, before the sync", none)
		wantSent(t, "federated, before the sync", both, "add 10.0.0.1:8080")
		f.change(put(linked("east")))
		wantSent(t, "remote", far, "add 10.1.0.1:8080")
		wantSent(t, "no such Service", none, "no_endpoints exists=true")
		wantSent(t, "federated", both, "add 10.1.0.1:8080")
	})
}

// An endpoint has the identity, the labels and the locality of its own cluster (§2.2; G11).
func TestRemoteEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vm := slice("vm", at("10.1.0.9", externalKey("vm")))
		vm.Service = serviceKey("bb")
		f := start(t, testConfig(), slices.Concat(member("east", "10.1.0.1"), []catalog.Object{
			linked("east"), service("web", remote("east", "bb")), nodeIn("n1", "zone-1"), inCluster(external("vm"), "east"), inCluster(vm, "east"),
		})...)
		c := f.get(getPath, `{"nodeName":"n1"}`)
		f.settle()
		set := c.newMessages()[0].GetAdd()
		if diff := cmp.Diff(map[string]string{"service": "bb", "namespace": "ns"}, set.GetMetricLabels()); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		a := set.GetAddrs()[0]
		if got, want := a.GetTlsIdentity().GetDnsLikeIdentity().GetName(), "serviceaccount-name.ns.serviceaccount.identity.linkerd.east.trust"; got != want {
			t.Errorf("identity %s, want %s", got, want)
		}
		if got := a.GetMetricLabels()["zone_locality"]; got != "local" {
			t.Errorf("locality %s, want local", got)
		}
		// Q8
		if got := set.GetAddrs()[1].GetTlsIdentity().GetUriLikeIdentity().GetUri(); got != "spiffe://vm" {
			t.Errorf("identity of the ExternalWorkload: %q", got)
		}
		renamed := linked("east")
		renamed.TrustDomain = "new.trust"
		f.change(put(renamed))
		updates := c.newMessages()
		if len(updates) != 1 || len(updates[0].GetAdd().GetAddrs()) == 0 {
			t.Fatalf("after the trust domain changed: %v", updates)
		}
		got := updates[0].GetAdd().GetAddrs()[0].GetTlsIdentity().GetDnsLikeIdentity().GetName()
		if !strings.HasSuffix(got, ".new.trust") {
			t.Errorf("after the trust domain changed: %s", got)
		}
	})
}

// The profile of a hostname describes its endpoint, with the domains of the endpoint's cluster.
func TestProfileOfRemotePod(t *testing.T) {
	east := member("east", "10.1.0.1")
	east[1].(*catalog.Workload).Running = true
	east[2].(*catalog.EndpointSlice).Subsets[0].Endpoints[0].Hostname = "h"
	withProfileServer(t, append(east, linked("east"), service("web", remote("east", "bb"))), func(t *testing.T, s *profileServer) {
		c := s.open("h.web.ns.svc.cluster.local:8080", "")
		defer c.close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.messages) != 1 {
			t.Fatalf("%d profiles, the call ended with %v", len(c.messages), c.err)
		}
		got := c.messages[0].GetEndpoint().GetTlsIdentity().GetDnsLikeIdentity().GetName()
		if !strings.HasSuffix(got, ".linkerd.east.trust") {
			t.Errorf("identity %q", got)
		}
	})
}

// The label of the overflow metric is the name of a remote Service in its own cluster (§2.2).
func TestOverflowName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), linked("east"), service("web"), service("far", remote("east", "bb")), service("unlinked", remote("west", "bb")), service("all", federated("bb", "bb@east")))
		for name, want := range map[string]string{
			"web": "web.ns.svc.mycluster.local:80", "far": "bb.ns.svc.east.local:80", "all": "all.ns.svc.mycluster.local:80", "unlinked": "unlinked.ns.svc.mycluster.local:80",
		} {
			if got := f.server.metrics.overflowing(query{service: serviceKey(name), port: 80}); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

// BenchmarkFederated opens streams to a federated Service of 20 members, and to a local Service of the size
// of a member.
func BenchmarkFederated(b *testing.B) {
	const endpoints = 100
	var objects []catalog.Object
	var members []string
	for i := range 20 {
		name := fmt.Sprint("c", i)
		s := slice("bb")
		s.Service = serviceKey("bb")
		for n := range endpoints {
			s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, at(fmt.Sprintf("10.%d.0.%d", i, n), podKey("bb")))
		}
		objects = append(objects, linked(name), inCluster(service("bb"), name), inCluster(pod("bb"), name), inCluster(s, name))
		members = append(members, "bb@"+name)
	}
	objects = append(objects, service("all", federated("", members...)), service("one", remote("c0", "bb")))
	c := settled(b, objects...)
	config := testConfig()
	for _, name := range []string{"one", "all"} {
		b.Run(name, func(b *testing.B) {
			ss := NewServer(c, config, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)).topics
			for b.Loop() {
				s := mustAcquire(ss.acquire(query{service: serviceKey(name), port: 80}, subscriber{}))
				v := s.join(catalog.Client{}, clientlimits.ClientID{})
				v.current.Load().fullFrames()
				s.leave(v)
				ss.release(s)
				ss.running.Wait()
			}
		})
	}
}
