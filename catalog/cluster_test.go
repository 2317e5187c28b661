package catalog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var clusterNames = []string{"east", "west"}

// inCluster moves a new object to a cluster.
func inCluster(v Object, cluster string) Object {
	switch v := v.(type) {
	case *Service:
		v.Key.Cluster = cluster
	case *EndpointSlice:
		v.Cluster, v.Service.Cluster = cluster, cluster
		for _, s := range v.Subsets {
			for i := range s.Endpoints {
				if s.Endpoints[i].Target.Kind != "" {
					s.Endpoints[i].Target.Cluster = cluster
				}
			}
		}
	case *Workload:
		v.Key.Cluster = cluster
	case *Node:
		v.Cluster = cluster
	case *Owner:
		v.Cluster = cluster
	case *Server:
		v.Cluster = cluster
	case *Cluster:
		v.Name = cluster
	}
	return v
}

// drawCluster also draws clusters, and puts each object into one.
func drawCluster(local *rapid.Generator[Object]) *rapid.Generator[Object] {
	return rapid.Custom(func(t *rapid.T) Object {
		if rapid.IntRange(0, 9).Draw(t, "is cluster") == 0 {
			return &Cluster{
				Name: rapid.SampledFrom(clusterNames).Draw(t, "cluster"), TrustDomain: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "domain"),
				Synced: rapid.IntRange(0, 3).Draw(t, "synced") > 0,
			}
		}
		v := local.Draw(t, "object")
		if cluster := rapid.SampledFrom([]string{"", "", "east", "west"}).Draw(t, "in"); cluster != "" {
			return inCluster(v, cluster)
		}
		return v
	})
}

// drawMembers makes some Services remote or federated.
func drawMembers(t *rapid.T) func(*Service) {
	name := rapid.SampledFrom([]string{"a", "b"})
	return func(s *Service) {
		switch rapid.IntRange(0, 4).Draw(t, "members") {
		case 0:
			remote(rapid.SampledFrom(clusterNames).Draw(t, "cluster"), name.Draw(t, "remote"))(s)
		case 1:
			s.Federation = &Federation{Local: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "local member")}
			for _, cluster := range clusterNames {
				if rapid.Bool().Draw(t, cluster) {
					s.Federation.Remote = append(s.Federation.Remote, RemoteMember{name.Draw(t, "member"), cluster})
				}
			}
		}
	}
}

func remote(cluster, service string) func(*Service) {
	return func(s *Service) { s.RemoteCluster, s.RemoteService = &cluster, &service }
}

func federated(local string, members ...RemoteMember) func(*Service) {
	return func(s *Service) { s.Federation = &Federation{Local: local, Remote: members} }
}

func linked(name string) *Cluster {
	return &Cluster{Name: name, TrustDomain: name + ".trust", ClusterDomain: name + ".local", Synced: true}
}

// servedIn returns the Service bb of a cluster and its only pod, with this address.
func servedIn(cluster, ip string) []Object {
	return []Object{
		inCluster(service("bb"), cluster), inCluster(pod("bb-"+cluster), cluster),
		inCluster(slice("bb", "bb", IPv4, at(ip, podKey("bb-"+cluster))), cluster),
	}
}

// where returns the addresses of a set, each with the trust domain of its cluster.
func where(set EndpointSet) []string {
	var out []string
	for _, e := range set.Endpoints {
		domain := "ours"
		if e.Source.Cluster != nil {
			domain = e.Source.Cluster.TrustDomain
		}
		out = append(out, e.Addr.String()+" "+domain)
	}
	return out
}

// The endpoints of remote and federated Services (§2.2, §5; G11, F1 to F4).
func TestResolveMembers(t *testing.T) {
	objects := slices.Concat(servedIn(LocalCluster, "10.0.0.1"), servedIn("east", "10.1.0.1"), servedIn("west", "10.2.0.1"), servedIn("north", "10.3.0.1"),
		[]Object{linked("east"), linked("west"), &Cluster{Name: "north"}})
	text := "east"
	for name, tc := range map[string]struct {
		members func(*Service)
		more    []Object
		want    []string
		pending bool
	}{
		"G11 remote":                     {members: remote("east", "bb"), want: []string{"10.1.0.1:8080 east.trust"}},
		"remote, not linked":             {members: remote("south", "bb")},
		"remote, not synced":             {members: remote("north", "bb"), pending: true},
		"remote, no such Service":        {members: remote("east", "cc")},
		"remote, named like our own":     {members: remote(LocalCluster, "bb")},
		"remote, Service not named":      {members: func(s *Service) { s.RemoteCluster = &text }},
		"F1 federated":                   {members: federated("bb", RemoteMember{"bb", "east"}), want: []string{"10.0.0.1:8080 ours", "10.1.0.1:8080 east.trust"}},
		"F2 two clusters":                {members: federated("bb", RemoteMember{"bb", "east"}, RemoteMember{"bb", "west"}), want: []string{"10.0.0.1:8080 ours", "10.1.0.1:8080 east.trust", "10.2.0.1:8080 west.trust"}},
		"F3 local only":                  {members: federated("bb"), want: []string{"10.0.0.1:8080 ours"}},
		"F4 remote only":                 {members: federated("", RemoteMember{"bb", "east"}), want: []string{"10.1.0.1:8080 east.trust"}},
		"federated without members":      {members: federated("")},
		"federated, one not synced":      {members: federated("bb", RemoteMember{"bb", "north"}), want: []string{"10.0.0.1:8080 ours"}, pending: true},
		"federated before remote":        {members: func(s *Service) { remote("west", "bb")(s); federated("bb")(s) }, want: []string{"10.0.0.1:8080 ours"}},
		"members have no members":        {members: federated("web"), more: []Object{slice("own", "web", IPv4, at("10.9.0.1", WorkloadKey{}))}, want: []string{"10.9.0.1:8080 ours"}},
		"remote ExternalName":            {members: remote("east", "ext"), more: []Object{inCluster(service("ext", func(s *Service) { s.ExternalName = true }), "east")}},
		"one address: the own cluster":   {members: federated("bb", RemoteMember{"same", "east"}), more: []Object{inCluster(service("same"), "east"), inCluster(slice("same", "same", IPv4, at("10.0.0.1", WorkloadKey{})), "east")}, want: []string{"10.0.0.1:8080 ours"}},
		"own slices of a remote Service": {members: remote("east", "bb"), more: []Object{slice("own", "web", IPv4, at("10.9.0.1", WorkloadKey{}))}, want: []string{"10.1.0.1:8080 east.trust"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Resolve(snapshotOf("web", slices.Concat(objects, tc.more, []Object{service("web", tc.members)})...), Query{Port: 80})
			if diff := cmp.Diff(tc.want, where(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Pending != tc.pending || !got.Exists {
				t.Errorf("pending %v, want %v; exists %v", got.Pending, tc.pending, got.Exists)
			}
		})
	}
}

// Each member maps the requested port, because the ports of members may differ.
func TestMembersMapPorts(t *testing.T) {
	other := inCluster(service("bb", func(s *Service) { s.Ports[0].Name = "web" }), "east")
	s := slice("bb", "bb", IPv4, at("10.1.0.1", WorkloadKey{}))
	s.Subsets[0].Ports = []SubsetPort{{"http", 1}, {"web", 2}}
	objects := append(servedIn(LocalCluster, "10.0.0.1"), other, inCluster(s, "east"), linked("east"), service("web", federated("bb", RemoteMember{"bb", "east"})))
	want := []string{"10.0.0.1:8080 ours", "10.1.0.1:2 east.trust"}
	if diff := cmp.Diff(want, where(Resolve(snapshotOf("web", objects...), Query{Port: 80}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A member that lacks a port of the federated Service has no endpoints for it. A port that neither declares
// is taken as the port of the endpoints, as for any Service (mesh finding 7).
func TestMembersLackPorts(t *testing.T) {
	all := ports(ServicePort{Name: "http", Port: 80, Protocol: TCP}, ServicePort{Name: "grpc", Port: 90, Protocol: TCP})
	own := serving(slice("a", "a", IPv4, at("10.0.0.1", podKey("a"))), SubsetPort{"http", 8080}, SubsetPort{"grpc", 9090})
	objects := append(servedIn("west", "10.1.0.1"), linked("west"), service("a", all), pod("a"), own,
		service("web", federated("a", RemoteMember{"bb", "west"}), all))
	for port, want := range map[uint16][]string{
		80: {"10.0.0.1:8080 ours", "10.1.0.1:8080 west.trust"}, 90: {"10.0.0.1:9090 ours"}, 81: {"10.0.0.1:81 ours", "10.1.0.1:81 west.trust"},
	} {
		state := stateOf(objects...)
		if diff := cmp.Diff(want, where(Resolve(state.snapshot(serviceKey("web"), &Options{}), Query{Port: port}))); diff != "" {
			t.Errorf("port %d (-want +got):\n%s", port, diff)
		}
		served := 0
		for _, m := range state.explain(serviceKey("web"), Query{Port: port}, &Options{}).Members {
			m.each(func(*EndpointSlice, *ExplainedEndpoint) { served++ })
		}
		if served != len(want) {
			t.Errorf("port %d: %d endpoints are explained as served, want %d", port, served, len(want))
		}
	}
}

// The node and zone of the client only filter endpoints of our own cluster (§2.2). The hostname filters all.
func TestFilterAppliesToOwnClusterOnly(t *testing.T) {
	local := servedIn(LocalCluster, "10.0.0.1")
	local[0].(*Service).LocalTraffic = true
	east := servedIn("east", "10.1.0.1")
	east[0].(*Service).LocalTraffic = true
	e := &east[2].(*EndpointSlice).Subsets[0].Endpoints[0]
	e.HintZones, e.Zone, e.Hostname = []string{"b"}, "b", "h"
	objects := slices.Concat(local, east, []Object{linked("east")})
	both := snapshotOf("web", append(objects, service("web", federated("bb", RemoteMember{"bb", "east"})))...)
	if got := both.filterKind(); got != FilterNode {
		t.Errorf("federated: filter kind %v, want %v", got, FilterNode)
	}
	q := Query{Port: 80, Filter: Filter{FilterNode, "a", "elsewhere"}}
	if diff := cmp.Diff([]string{"10.1.0.1:8080 east.trust"}, where(Resolve(both, q))); diff != "" {
		t.Errorf("federated (-want +got):\n%s", diff)
	}
	alone := snapshotOf("web", append(objects, service("web", remote("east", "bb")))...)
	if got := alone.filterKind(); got != FilterZone {
		t.Errorf("remote: filter kind %v, want %v", got, FilterZone)
	}
	q.Filter, q.Hostname = Filter{Kind: FilterZone, Zone: "a"}, "h"
	if diff := cmp.Diff([]string{"10.1.0.1:8080 east.trust"}, where(Resolve(alone, q))); diff != "" {
		t.Errorf("remote (-want +got):\n%s", diff)
	}
	q.Hostname = "i"
	if got := where(Resolve(alone, q)); got != nil {
		t.Errorf("hostname i: %v, want none", got)
	}
}

// The Snapshot of a federated Service becomes stale after each change of its members and their clusters, and
// after no other change.
func TestMembersMakeStale(t *testing.T) {
	members := federated("bb", RemoteMember{"bb", "east"})
	for name, tc := range map[string]struct {
		change Object
		stale  bool
	}{
		"the Service":             {service("web", federated("bb")), true},
		"the local member":        {service("bb", func(s *Service) { s.LocalTraffic = true }), true},
		"the remote member":       {inCluster(service("bb"), "east"), true},
		"a slice of it":           {inCluster(slice("more", "bb", IPv4), "east"), true},
		"a pod of it":             {inCluster(pod("bb-east", labelled("a", "b")), "east"), true},
		"its cluster":             {&Cluster{Name: "east", Synced: true, TrustDomain: "other"}, true},
		"another cluster":         {linked("west"), false},
		"another of that cluster": {inCluster(service("cc"), "east"), false},
		"of its name elsewhere":   {inCluster(service("bb"), "west"), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := started(slices.Concat(servedIn(LocalCluster, "10.0.0.1"), servedIn("east", "10.1.0.1"), []Object{linked("east"), service("web", members)})...)
			snapshot := c.Service(serviceKey("web"))
			apply(c, tc.change)
			if got := isClosed(snapshot.Stale()); got != tc.stale {
				t.Errorf("stale: %v, want %v", got, tc.stale)
			}
		})
	}
}

// The profile of a hostname is that of the endpoint in its cluster, and follows a move of the Service to
// another cluster.
func TestProfileOfRemoteHostname(t *testing.T) {
	east := servedIn("east", "10.1.0.1")
	east[2].(*EndpointSlice).Subsets[0].Endpoints[0].Hostname = "h"
	c := started(append(east, service("web", remote("east", "bb")))...)
	q := ProfileQuery{Cluster: LocalCluster, Service: serviceKey("web"), Hostname: "h", Port: 8080}
	s := c.Profile(q)
	if s.Result != NothingFound {
		t.Fatalf("before the cluster is linked: %v", s.Result)
	}
	apply(c, linked("east"))
	if !isClosed(s.Stale()) {
		t.Error("not stale after the cluster was linked")
	}
	s = c.Profile(q)
	if s.Result != EndpointFound || s.Endpoint.String() != "10.1.0.1:8080" || s.Cluster == nil || s.Cluster.TrustDomain != "east.trust" {
		t.Errorf("once it is linked: %+v", s)
	}
	apply(c, service("web"))
	if !isClosed(s.Stale()) || c.Profile(q).Result != NothingFound {
		t.Error("the profile did not follow the Service back")
	}
}

// A removed cluster leaves no objects of any kind.
func TestReplaceForgetsCluster(t *testing.T) {
	c := started(slices.Concat(servedIn(LocalCluster, "10.0.0.1"), servedIn("east", "10.1.0.1"), []Object{linked("east"), service("web", remote("east", "bb"))})...)
	snapshot := c.Service(serviceKey("web"))
	before := size(started(append(servedIn(LocalCluster, "10.0.0.1"), service("web", remote("east", "bb")))...))
	c.Put(inCluster(service("late"), "east"))
	c.Replace("east", nil)
	c.step()
	if !isClosed(snapshot.Stale()) {
		t.Error("the snapshot is not stale")
	}
	snapshot.Release()
	if diff := cmp.Diff(before, size(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A large cluster is deleted in several steps. If it is linked again meanwhile, its new objects stay.
func TestRemovedClusterIsLinkedAgain(t *testing.T) {
	objects := []Object{linked("east")}
	for i := range forgetAtOnce + 100 {
		objects = append(objects, inCluster(service(fmt.Sprint("s", i)), "east"))
	}
	c := started(objects...)
	c.Replace("east", nil)
	c.step()
	if c.Cluster("east") != nil || len(c.state.services) == 0 {
		t.Fatalf("after a step: the cluster is %v, and %d Services are left", c.Cluster("east"), len(c.state.services))
	}
	if len(c.inbox.poke) == 0 {
		t.Error("no further step is due")
	}
	apply(c, objects...)
	c.step()
	if got, want := len(c.state.services), len(objects)-1; got != want {
		t.Errorf("%d Services, want %d", got, want)
	}
}
