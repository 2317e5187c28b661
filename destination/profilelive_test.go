package destination

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

func TestGetProfileLiveService(t *testing.T) {
	web, opaque := profileService("web", withClusterIPs("10.96.0.1")), profileService("web", withOpaquePorts("80"))
	wanted, wantedOpaque := wantService("web"), wantService("web", wantOpaque)
	own, clients := profileOn("ns", "own"), profileOn("client-ns", "client's")
	external := func(s *catalog.Service) { s.ExternalName = true }
	playProfiles(t, map[string]profilePlay{
		"T16 not annotated": {path: webPath, events: []profileEvent{
			after(wanted, web), after(nil, profileService("web")), without(nil, web), after(nil, web),
		}},
		"T17 annotated, deleted, back": {path: webPath, events: []profileEvent{
			after(wantedOpaque, opaque), without(wanted, opaque), after(wantedOpaque, opaque),
		}},
		"T17 its ServiceProfile stays": {path: webPath, events: []profileEvent{
			after(wantProfileOn("ns", "own"), web, own), without(nil, web), without(wanted, own), after(nil, web), after(wantProfileOn("ns", "own"), own),
		}},
		"mesh finding 14 by appProtocol": {path: webPath, events: []profileEvent{
			after(wanted, web), after(wantedOpaque, profileService("web", func(s *catalog.Service) { s.OpaqueProtocol = *portsOf("80") })), after(wanted, web),
		}},
		"T19 annotated later": {path: webPath, events: []profileEvent{after(wanted, web), after(wantedOpaque, opaque), after(wanted, web)}},
		"T11 T15 the client's is added and removed": {path: webPath, token: "ns:client-ns", events: []profileEvent{
			after(wanted, web), after(wantProfileOn("client-ns", "client's"), clients), after(nil, own), without(wantProfileOn("ns", "own"), clients), without(wanted, own),
		}},
		"T14 the own changes below": {path: webPath, token: "ns:client-ns", events: []profileEvent{
			after(wantProfileOn("client-ns", "client's"), web, own, clients), after(nil, profileOn("ns", "changed")), after(nil, profileOn("client-ns", "client's")),
		}},
		"T21 deleted": {path: webPath, events: []profileEvent{after(wantProfileOn("ns", "own"), web, own), without(wanted, own), without(nil, own)}},
		"Q22 a port is added and removed": {path: "web.ns.svc.cluster.local:80", events: []profileEvent{
			after(&pb.DestinationProfile{}, profileService("web", withPorts(81))), after(nil, profileService("web", withPorts(82))), after(nil, own),
			after(wantProfileOn("ns", "own"), web), after(&pb.DestinationProfile{}, profileService("web", withPorts(81))),
		}},
		"Q22 by cluster IP": {path: "10.96.0.1:80", events: []profileEvent{
			after(&pb.DestinationProfile{}, profileService("web", withClusterIPs("10.96.0.1"), withPorts(81))), after(wanted, web),
		}},
		"3.2 becomes an ExternalName": {path: webPath, events: []profileEvent{
			after(wanted, web), after(nil, profileService("web", external)), after(wantedOpaque, opaque),
		}},
		"3.1 the cluster IP is given up": {path: "10.96.0.1:80", events: []profileEvent{after(wanted, web), without(wantAddress("10.96.0.1:80"), web), after(wanted, web)}},
		"3.1 a conflict of cluster IPs": {path: "10.96.0.1:80", events: []profileEvent{
			after(wanted, web), after(nil, profileService("db", withClusterIPs("10.96.0.1"))), without(wantService("db"), web),
		}},
		"Q28 becomes invalid and valid": {path: webPath, events: []profileEvent{
			after(wantProfileOn("ns", "own"), web, own), after(wanted, webProfile(catalog.Route{Name: "r"})), after(nil, webProfile(catalog.Route{Name: "s"})),
			after(wantProfileOn("ns", "own"), own),
		}},
		"another Service": {path: webPath, events: []profileEvent{after(wanted, web), after(nil, profileService("db", withOpaquePorts("80")))}},
	})
}

func TestGetProfileLiveAddress(t *testing.T) {
	const at, host = "10.0.0.1:80", "192.168.0.1:8080"
	meshedA := wantAddress(at, wantPod("a"), wantMeshed)
	podA := profilePod("a", "10.0.0.1", meshed)
	pending := profilePod("a", "10.0.0.1", meshed, profilePending)
	relabelled := profilePod("a", "10.0.0.1", meshed)
	relabelled.Labels = objectmeta.NewLabels(map[string]string{catalog.ControlPlaneLabel: "linkerd", "version": "2"})
	relabelled.Node = "n2"
	dying := profilePod("a", "10.0.0.1", meshed, func(w *catalog.Workload) { w.Terminating = true })
	first, second := profilePod("a", "10.0.0.1", mapsPort), profilePod("b", "10.0.0.2", mapsPort)
	named := profileOpaqueServer(0)
	named.PortName = "http"
	rs := catalog.OwnerRef{Kind: "ReplicaSet", Name: "rs"}
	playProfiles(t, map[string]profilePlay{
		"P10 Pending, then Running": {path: "10.0.0.1:4191", events: []profileEvent{
			after(wantAddress("10.0.0.1:4191"), pending), after(wantAddress("10.0.0.1:4191", wantPod("a"), wantMeshed), podA), without(wantAddress("10.0.0.1:4191"), podA),
		}},
		"P11 with a native sidecar": {path: "10.0.0.1:4191", events: []profileEvent{
			// Package kube reads init containers into the same fields, and the port of the proxy comes last
			// there.
			after(wantAddress("10.0.0.1:4191"), profilePod("a", "10.0.0.1", profilePending, meshed)), after(wantAddress("10.0.0.1:4191", wantPod("a"), wantMeshed), podA),
		}},
		"P23 host ports": {path: host, events: []profileEvent{
			after(wantAddress(host, wantPod("a")), first), without(wantAddress(host), first), after(wantAddress(host, wantPod("b")), second),
			after(wantAddress(host, wantPod("b"), wantOpaque), named), without(wantAddress(host, wantPod("b")), named),
		}},
		"T22 nothing to see": {path: at, events: []profileEvent{after(meshedA, podA), after(nil, podA), after(nil, relabelled)}},
		"3.6 deletion begins": {path: at, events: []profileEvent{
			after(meshedA, podA), after(nil, dying), without(wantAddress(at), podA),
		}},
		"Q5 an undeclared port":    {path: "10.0.0.1:9999", events: []profileEvent{after(wantAddress("10.0.0.1:9999")), after(wantAddress("10.0.0.1:9999", wantPod("a"), wantMeshed), podA)}},
		"Q6 edited":                {path: at, events: []profileEvent{after(meshedA, podA), after(wantAddress(at, wantPod("a")), profilePod("a", "10.0.0.1"))}},
		"Q6 the IP is used again":  {path: at, events: []profileEvent{after(meshedA, podA), after(wantAddress(at, wantPod("b")), dying, profilePod("b", "10.0.0.1")), without(nil, podA)}},
		"P25 a conflict meanwhile": {path: at, events: []profileEvent{after(meshedA, podA), after(nil, profilePod("b", "10.0.0.1")), without(wantAddress(at, wantPod("b")), podA)}},
		"Q3 P21 a Server": {path: at, events: []profileEvent{
			after(meshedA, podA), after(wantAddress(at, wantPod("a"), wantMeshed, wantTransport), profileOpaqueServer(80)), after(meshedA, profileOpaqueServer(81)),
		}},
		"Q4 P21 a Server for a VM": {path: "10.1.0.1:80", events: []profileEvent{
			after(wantAddress("10.1.0.1:80", wantVM("vm")), profileVM("vm", "10.1.0.1")), after(wantAddress("10.1.0.1:80", wantVM("vm"), wantTransport), profileOpaqueServer(80)),
			without(wantAddress("10.1.0.1:80", wantVM("vm")), profileOpaqueServer(80)), without(wantAddress("10.1.0.1:80"), profileVM("vm", "10.1.0.1")),
		}},
		"Q23 the pod behind a name moves": {path: "web-0.web.ns.svc.cluster.local:80", events: []profileEvent{
			after(meshedA, podA, profileSet()), after(wantAddress("10.0.0.7:80", wantPod("a"), wantMeshed), profilePod("a", "10.0.0.7", meshed)),
		}},
		"Q24 the owner appears": {path: at, events: []profileEvent{
			after(wantAddress(at, wantOwned("replicaset", "rs")), profilePod("a", "10.0.0.1", func(w *catalog.Workload) { w.Owner = rs })),
			after(wantAddress(at, wantOwned("deployment", "web")), &catalog.Owner{Cluster: catalog.LocalCluster, Namespace: "ns", OwnerRef: rs, Parent: catalog.OwnerRef{Kind: "Deployment", Name: "web"}}),
		}},
	})
}

// wantOwned expects the pod a with an owner.
func wantOwned(kind, name string) func(*pb.DestinationProfile) {
	return func(p *pb.DestinationProfile) {
		wantPod("a")(p)
		p.Endpoint.MetricLabels[kind] = name
	}
}

// During a conflict, an open stream keeps its profile, and a new one is refused (P25).
func TestGetProfileConflict(t *testing.T) {
	withProfileServer(t, []catalog.Object{profilePod("a", "10.0.0.1")}, func(t *testing.T, s *profileServer) {
		live := s.open("10.0.0.1:80", "")
		live.want(t, "at first", wantAddress("10.0.0.1:80", wantPod("a")))
		s.put(profilePod("b", "10.0.0.1"))
		s.open("10.0.0.1:80", "").wantRefused(t, codes.Unavailable)
		live.want(t, "during the conflict")
		s.remove(profilePod("b", "10.0.0.1"))
		live.want(t, "after the conflict")
		fresh := s.open("10.0.0.1:80", "")
		fresh.want(t, "after the conflict", wantAddress("10.0.0.1:80", wantPod("a")))
		fresh.close()
		live.close()
	})
}

// A stream for a hostname ends with its endpoint, and a new one is refused. It never gets the bare address of
// the pod, because another pod may have the address by then (mesh finding 4).
func TestGetProfileOfDeletedHostname(t *testing.T) {
	const path = "web-0.web.ns.svc.cluster.local:80"
	podA := profilePod("a", "10.0.0.1", meshed)
	for name, object := range map[string]catalog.Object{"the pod is deleted first": podA, "the slice is emptied first": profileSet()} {
		t.Run(name, func(t *testing.T) {
			withProfileServer(t, []catalog.Object{podA, profileSet()}, func(t *testing.T, s *profileServer) {
				live := s.open(path, "")
				live.want(t, "at first", wantAddress("10.0.0.1:80", wantPod("a"), wantMeshed))
				s.remove(object)
				live.mu.Lock()
				if !live.over || status.Code(live.err) != codes.NotFound || len(live.messages) != 1 {
					t.Errorf("%d messages, ended %v with %v; want one and NotFound", len(live.messages), live.over, live.err)
				}
				live.mu.Unlock()
				s.put(profilePod("thief", "10.0.0.1"))
				s.open(path, "").wantRefused(t, codes.NotFound)
			})
		})
	}
}

// Of two pods with one address, the younger one is sent. The other is reported once and counted (mesh finding
// 5).
func TestGetProfileOfAddressConflict(t *testing.T) {
	old := profilePod("old", "10.0.0.1")
	young := profilePod("young", "10.0.0.1", func(w *catalog.Workload) { w.Created = time.Unix(1, 0) })
	withProfileServer(t, []catalog.Object{old}, func(t *testing.T, s *profileServer) {
		live := s.open("10.0.0.1:80", "")
		live.want(t, "at first", wantAddress("10.0.0.1:80", wantPod("old")))
		s.put(young)
		live.want(t, "beside the younger one", wantAddress("10.0.0.1:80", wantPod("young")))
		s.put(profilePod("old", "10.0.0.1", profileAnnotated("81")))
		want := []objectmeta.Problem{{
			Kind: "Pod", Namespace: "ns", Name: "old", Field: "address 10.0.0.1", Conflict: true,
			Reason: "the Pod ns/young has the address too and is used, because it is ready or younger; delete the one that no longer runs",
		}}
		if diff := cmp.Diff(want, s.reported()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := testutil.ToFloat64(s.server.metrics.conflicts.WithLabelValues(conflictWorkloads)); n != 1 {
			t.Errorf("%v conflicts are counted", n)
		}
		live.close()
	})
}

// Many streams with one invalid ServiceProfile report one problem for each change of it (Q28).
func TestGetProfileReportsOnce(t *testing.T) {
	bad := func(route string) *catalog.ServiceProfile { return webProfile(catalog.Route{Name: route}) }
	withProfileServer(t, []catalog.Object{profileService("web"), bad("r")}, func(t *testing.T, s *profileServer) {
		var open []*profileClient
		for range 3 {
			open = append(open, s.open(webPath, ""))
		}
		want := []objectmeta.Problem{{Kind: "ServiceProfile", Namespace: "ns", Name: "web.ns.svc.cluster.local", Field: "spec"}}
		for i := range 2 {
			got := s.reported()
			if len(got) != i+1 {
				t.Fatalf("reported %d problems, want %d: %v", len(got), i+1, got)
			}
			got[i].Reason = ""
			if diff := cmp.Diff(want, got[i:]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			s.put(bad("s"))
		}
		for _, c := range open {
			c.want(t, "an invalid profile", wantService("web"))
			c.close()
		}
	})
}

// A stream that is opened after the last one has ended gets the same profile (Q2).
func TestGetProfileOpenedAgain(t *testing.T) {
	withProfileServer(t, []catalog.Object{profileService("web", withOpaquePorts("80"))}, func(t *testing.T, s *profileServer) {
		for range 3 {
			c := s.open(webPath, "")
			c.want(t, "the next client", wantService("web", wantOpaque))
			c.close()
			s.expectNoState()
		}
	})
}

// Streams wait until the catalog is synced. When the server stops, they end with the status OK.
func TestGetProfileShutdown(t *testing.T) {
	withProfileServer(t, []catalog.Object{profileService("web"), profilePod("a", "10.0.0.1")}, func(t *testing.T, s *profileServer) {
		open := []*profileClient{s.open(webPath, ""), s.open(webPath, ""), s.open("10.0.0.1:80", ""), s.open("web.ns.svc.cluster.local:81", "")}
		s.end()
		settle()
		for i, c := range open {
			c.mu.Lock()
			// Recv returns io.EOF for the status OK.
			if !c.over || c.err.Error() != "EOF" || len(c.messages) != 1 {
				t.Errorf("stream %d: %d messages, ended %v with %v", i, len(c.messages), c.over, c.err)
			}
			c.mu.Unlock()
		}
		s.expectNoState()
	})
}

// The messages of refusals name the cause.
func TestGetProfileRefusalTexts(t *testing.T) {
	named := func(s *catalog.Service) { s.ExternalName, s.Key.Name = true, "named" }
	withProfileServer(t, []catalog.Object{profileService("named", named), profilePod("a", "10.0.0.1"), profilePod("b", "10.0.0.1")}, func(t *testing.T, s *profileServer) {
		for path, want := range map[string]string{
			webPath:                             "service web.ns not found",
			"web-0.web.ns.svc.cluster.local:80": "service web.ns has no endpoint of the hostname web-0",
			"named.ns.svc.cluster.local:80":     "invalid authority: service named.ns is of type ExternalName",
			"10.0.0.1:80":                       "2 workloads have the address 10.0.0.1:80, such as ns/a and ns/b: no rule decides which of them has it; delete the one that no longer runs",
		} {
			c := s.open(path, "")
			if got := status.Convert(c.err).Message(); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	})
}
