package catalog

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// resolveCase is a query about the Service web, with the result as formatted by [show].
type resolveCase struct {
	objects []Object
	query   Query
	missing bool // there is no such Service
	want    []string
}

func runResolve(t *testing.T, cases map[string]resolveCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.query.Port == 0 {
				tc.query.Port = 80
			}
			got := Resolve(snapshotOf("web", tc.objects...), tc.query)
			if got.Exists == tc.missing {
				t.Errorf("Exists = %v, want %v", got.Exists, !tc.missing)
			}
			if diff := cmp.Diff(tc.want, show(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func withPorts(ports ...ServicePort) func(*Service) { return func(s *Service) { s.Ports = ports } }

// serving replaces the ports of a slice.
func serving(s *EndpointSlice, ports ...SubsetPort) *EndpointSlice {
	s.Subsets[0].Ports = ports
	return s
}

func named(hostname string) func(*SliceEndpoint) {
	return func(e *SliceEndpoint) { e.Hostname = hostname }
}

// The port and the endpoints for a request (§2.4, and step 1 of §2.5).
func TestResolvePort(t *testing.T) {
	a, b := pod("a"), pod("b")
	v4 := slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))
	set := slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), named("a")), at("10.0.0.2", podKey("b"), named("b")))
	twoPorts := serving(slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))), SubsetPort{"tcp", 1}, SubsetPort{"udp", 2})
	rollout := slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))
	rollout.Subsets = append(rollout.Subsets, Subset{[]SubsetPort{{"old", 9090}}, []SliceEndpoint{at("10.0.0.2", podKey("b"))}})
	runResolve(t, map[string]resolveCase{
		"S3 no Service":    {objects: []Object{v4, a}, missing: true},
		"S3 no slices":     {objects: []Object{service("web"), a}},
		"no objects":       {missing: true},
		"W6 ExternalName":  {objects: []Object{service("web", func(s *Service) { s.ExternalName = true }), v4, a}},
		"W3 a named port":  {objects: []Object{service("web", withPorts(ServicePort{"http", 80, TCP})), v4, a}, want: []string{"10.0.0.1:8080 a"}},
		"W2 unnamed ports": {objects: []Object{service("web", withPorts(ServicePort{"", 80, TCP})), serving(slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))), SubsetPort{"", 8990}), a}, want: []string{"10.0.0.1:8990 a"}},
		"another port of the Service": {
			objects: []Object{service("web", withPorts(ServicePort{"admin", 80, TCP})), v4, a},
		},
		"an undeclared port is the endpoints' own": {objects: []Object{service("web"), v4, a}, query: Query{Port: 5959}, want: []string{"10.0.0.1:5959 a"}},
		"S4 a hostname and an undeclared port":     {objects: []Object{service("web"), set, a, b}, query: Query{Port: 6000, Hostname: "b"}, want: []string{"10.0.0.2:6000 b"}},
		"a hostname and a declared port":           {objects: []Object{service("web"), set, a, b}, query: Query{Hostname: "a"}, want: []string{"10.0.0.1:8080 a"}},
		"a hostname of nobody":                     {objects: []Object{service("web"), set, a, b}, query: Query{Hostname: "c"}},
		"no ports in the slice, declared":          {objects: []Object{service("web"), serving(slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))), a}},
		"no ports in the slice, undeclared":        {objects: []Object{service("web"), serving(slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))), a}, query: Query{Port: 5959}},
		"port 0":                                   {objects: []Object{service("web"), serving(slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))), SubsetPort{"http", 0}), a}},
		"W9 only subsets with the port":            {objects: []Object{service("web"), rollout, a, b}, want: []string{"10.0.0.1:8080 a"}},
		"W9 all subsets for an undeclared port":    {objects: []Object{service("web"), rollout, a, b}, query: Query{Port: 1}, want: []string{"10.0.0.1:1 a", "10.0.0.2:1 b"}},
		"Q19 TCP wins, listed last":                {objects: []Object{service("web", withPorts(ServicePort{"udp", 80, UDP}, ServicePort{"tcp", 80, TCP})), twoPorts, a}, want: []string{"10.0.0.1:1 a"}},
		"Q19 TCP wins, listed first":               {objects: []Object{service("web", withPorts(ServicePort{"tcp", 80, TCP}, ServicePort{"udp", 80, UDP})), twoPorts, a}, want: []string{"10.0.0.1:1 a"}},
		"Q19 without TCP, the first":               {objects: []Object{service("web", withPorts(ServicePort{"udp", 80, UDP}, ServicePort{"tcp", 80, "SCTP"})), twoPorts, a}, want: []string{"10.0.0.1:2 a"}},
		"TCP on another number doesn't matter":     {objects: []Object{service("web", withPorts(ServicePort{"tcp", 81, TCP}, ServicePort{"udp", 80, UDP})), twoPorts, a}, want: []string{"10.0.0.1:2 a"}},
	})
}

// A query for a hostname needs no memory for the other endpoints: a client may ask for 20,000 hostnames of a Service with
// 1,000 endpoints, whose every change then cost 1 GB.
func TestResolveHostnameAllocatesLittle(t *testing.T) {
	var all []SliceEndpoint
	for i := range 1000 {
		all = append(all, at(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String(), WorkloadKey{}, named(fmt.Sprint("h", i))))
	}
	snapshot := snapshotOf("web", service("web"), slice("s", "web", IPv4, all...))
	for hostname, want := range map[string]int{"h7": 1, "other": 0} {
		set := Resolve(snapshot, Query{Port: 80, Hostname: hostname})
		if n := len(set.Endpoints); n != want || cap(set.Endpoints) > 8 {
			t.Errorf("%s: %d endpoints in memory for %d, want %d", hostname, n, cap(set.Endpoints), want)
		}
	}
}

func notReady(e *SliceEndpoint) { e.NotReady = true }

// The addresses of a Service, and the workload that gets an address which several claim (§2.4, Q11, Q36).
func TestResolveAddresses(t *testing.T) {
	several := SliceEndpoint{Addresses: at("10.0.0.1", podKey("a")).Addresses, Target: podKey("a")}
	several.Addresses = append(several.Addresses, at("10.0.0.9", podKey("a")).Addresses...)
	bare := several
	bare.Target = WorkloadKey{}
	none := SliceEndpoint{Target: podKey("a")}
	web, a, b := service("web"), pod("a"), pod("b")
	young := pod("b", func(w *Workload) { w.Created = w.Created.AddDate(1, 0, 0) })
	elsewhere := podKey("a")
	elsewhere.Namespace = "other"
	external := externalKey("vm")
	runResolve(t, map[string]resolveCase{
		"S2 missing pods are left out": {
			objects: []Object{web, a, slice("s", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))}, want: []string{"10.0.0.1:8080 a"},
		},
		"a pod of that name in another namespace":       {objects: []Object{web, a, slice("s", "web", IPv4, at("10.0.0.1", elsewhere))}},
		"S7 an ExternalWorkload":                        {objects: []Object{web, workload(external), slice("s", "web", IPv4, at("10.0.0.1", external))}, want: []string{"10.0.0.1:8080 vm"}},
		"Q8 an unknown ExternalWorkload named as a pod": {objects: []Object{web, a, slice("s", "web", IPv4, at("10.0.0.1", externalKey("a")))}},
		"S1 no targetRef":                               {objects: []Object{web, slice("s", "web", IPv4, at("10.0.0.1", WorkloadKey{}))}, want: []string{"10.0.0.1:8080 -"}},
		"several IPs of a pod are one, the last":        {objects: []Object{web, a, slice("s", "web", IPv4, several)}, want: []string{"10.0.0.9:8080 a"}},
		"several IPs without targetRef are several":     {objects: []Object{web, slice("s", "web", IPv4, bare)}, want: []string{"10.0.0.1:8080 -", "10.0.0.9:8080 -"}},
		"S10 not ready":                                 {objects: []Object{web, a, slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), notReady), at("10.0.0.2", WorkloadKey{}, notReady))}},
		"no IPs":                                        {objects: []Object{web, a, slice("s", "web", IPv4, none)}},
		"sorted by address over slices": {
			objects: []Object{web, a, b, slice("s1", "web", IPv4, at("10.0.0.20", podKey("a"))), slice("s2", "web", IPv4, at("10.0.0.3", podKey("b")))},
			want:    []string{"10.0.0.3:8080 b", "10.0.0.20:8080 a"},
		},
		"Q11 one endpoint in two slices": {
			objects: []Object{web, a, slice("s1", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("s2", "web", IPv4, at("10.0.0.1", podKey("a")))},
			want:    []string{"10.0.0.1:8080 a"},
		},
		"one IP on two ports is two": {
			objects: []Object{web, a, slice("s1", "web", IPv4, at("10.0.0.1", podKey("a"))), serving(slice("s2", "web", IPv4, at("10.0.0.1", podKey("a"))), SubsetPort{"http", 9})},
			want:    []string{"10.0.0.1:9 a", "10.0.0.1:8080 a"},
		},
		"Q36 the newest workload has the address": {
			objects: []Object{web, a, young, slice("s1", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("s2", "web", IPv4, at("10.0.0.1", podKey("b")))},
			want:    []string{"10.0.0.1:8080 b"},
		},
		"Q36 whatever the order of the slices": {
			objects: []Object{web, a, young, slice("s1", "web", IPv4, at("10.0.0.1", podKey("b"))), slice("s2", "web", IPv4, at("10.0.0.1", podKey("a")))},
			want:    []string{"10.0.0.1:8080 b"},
		},
		"of two workloads of one age, the first by name": {
			objects: []Object{web, b, a, slice("s", "web", IPv4, at("10.0.0.1", podKey("b")), at("10.0.0.1", podKey("a")))},
			want:    []string{"10.0.0.1:8080 a"},
		},
		"a workload wins over an address without one": {
			objects: []Object{web, a, slice("s1", "web", IPv4, at("10.0.0.1", WorkloadKey{})), slice("s2", "web", IPv4, at("10.0.0.1", podKey("a")))},
			want:    []string{"10.0.0.1:8080 a"},
		},
		"slices of other Services don't count": {
			objects: []Object{web, service("shop"), a, slice("s", "shop", IPv4, at("10.0.0.1", podKey("a")))},
		},
	})
}

// The fields of an address: with a workload, the gateway of the slice is ignored (§2.4). With and without a
// workload, the address has the zone of the slice, which xDS needs (xds.md §4.2) and Get ignores without a
// workload.
func TestResolveAddressFields(t *testing.T) {
	s := slice("s", "web", IPv4,
		at("10.0.0.1", podKey("a"), inZone("east", "east", "west"), named("h")), at("10.0.0.2", WorkloadKey{}, inZone("east", "west"), named("i")))
	s.GatewayIdentity, s.RemoteName = "gateway", "web.ns.svc.remote"
	set := Resolve(snapshotOf("web", service("web"), pod("a"), s), Query{Port: 80})
	type fields struct {
		IP, Hostname, Zone          string
		HintZones                   []string
		GatewayIdentity, RemoteName string
		Family                      bool
	}
	var got []fields
	for _, e := range set.Endpoints {
		got = append(got, fields{e.IP.String(), e.Hostname, e.Zone, e.HintZones, e.GatewayIdentity, e.RemoteName, e.Family})
	}
	want := []fields{
		{IP: "10.0.0.1", Hostname: "h", Zone: "east", HintZones: []string{"east", "west"}, Family: true},
		{IP: "10.0.0.2", Hostname: "i", Zone: "east", HintZones: []string{"west"}, GatewayIdentity: "gateway", RemoteName: "web.ns.svc.remote"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The origin of a mirrored Service (set-level labels of §2.4). Of several slices, always the same one decides
// (Q15).
func TestResolveMirror(t *testing.T) {
	mirror := func(name, cluster, namespace, service string) *EndpointSlice {
		s := slice(name, "web", IPv4)
		s.Mirror = Mirror{cluster, namespace, service}
		return s
	}
	for name, tc := range map[string]struct {
		slices []Object
		want   Mirror
	}{
		"no slices": {},
		"no mirror": {slices: []Object{mirror("s", "", "", "")}},
		"a mirror":  {slices: []Object{mirror("s", "west", "prod", "shop")}, want: Mirror{"west", "prod", "shop"}},
		"no name":   {slices: []Object{mirror("s", "west", "", "")}, want: Mirror{Cluster: "west"}},
		"Q15 the first by name": {
			slices: []Object{mirror("s3", "north", "d", "c"), mirror("s2", "west", "b", "a"), mirror("s1", "", "", "")}, want: Mirror{"west", "b", "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := snapshotOf("web", append(tc.slices, service("web"))...).members[0].source.Mirror
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
