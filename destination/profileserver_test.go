package destination

import (
	"net/netip"
	"testing"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"

	"github.com/signpostd/signpost/catalog"
)

// profilePlay is a stream with the messages after each event. The first event comes before the stream.
type profilePlay struct {
	path, token string
	events      []profileEvent
	// refused is the status of a stream without a message.
	refused codes.Code
}

// profileEvent is a change and the one message that follows; nil for none.
type profileEvent struct {
	put, remove []catalog.Object
	want        *pb.DestinationProfile
}

func after(want *pb.DestinationProfile, put ...catalog.Object) profileEvent {
	return profileEvent{put: put, want: want}
}

func without(want *pb.DestinationProfile, remove ...catalog.Object) profileEvent {
	return profileEvent{remove: remove, want: want}
}

func refuse(path string, code codes.Code, objects ...catalog.Object) profilePlay {
	return profilePlay{path: path, events: []profileEvent{after(nil, objects...)}, refused: code}
}

func playProfile(t *testing.T, play profilePlay) {
	t.Helper()
	withProfileServer(t, play.events[0].put, func(t *testing.T, s *profileServer) {
		c := s.open(play.path, play.token)
		if play.refused != codes.OK {
			c.wantRefused(t, play.refused)
			s.expectNoState()
			return
		}
		for i, e := range play.events {
			if i > 0 {
				for _, v := range e.remove {
					s.catalog.Delete(v.ID())
				}
				s.put(e.put...)
			}
			var want []*pb.DestinationProfile
			if e.want != nil {
				want = append(want, e.want)
			}
			c.want(t, "event "+string(rune('1'+i)), want...)
		}
		c.close()
		s.expectNoState()
	})
}

func playProfiles(t *testing.T, plays map[string]profilePlay) {
	t.Helper()
	for name, play := range plays {
		t.Run(name, func(t *testing.T) { playProfile(t, play) })
	}
}

const webPath = "web.ns.svc.cluster.local:80"

func TestGetProfileRefuses(t *testing.T) {
	external := func(s *catalog.Service) { s.ExternalName = true }
	playProfiles(t, map[string]profilePlay{
		"P1 another domain":        refuse("linkerd.io", codes.InvalidArgument),
		"P1 ExternalName":          refuse(webPath, codes.InvalidArgument, profileService("web", external)),
		"2.1 a bad port":           refuse("web.ns.svc.cluster.local:0", codes.InvalidArgument, profileService("web")),
		"2.1 an IPv6 literal":      refuse("fd00::1", codes.InvalidArgument),
		"2.1 too many labels":      refuse("a.b.web.ns.svc.cluster.local", codes.InvalidArgument),
		"2.1 nothing":              refuse("", codes.InvalidArgument),
		"Q35 no such Service":      refuse(webPath, codes.NotFound, profileService("web", func(s *catalog.Service) { s.Key.Namespace = "other" })),
		"3.6 no such hostname":     refuse("web-0.web.ns.svc.cluster.local:80", codes.NotFound, profileService("web")),
		"P25 two pods, one IP":     refuse("10.0.0.1:80", codes.Unavailable, profilePod("a", "10.0.0.1"), profilePod("b", "10.0.0.1")),
		"P25 two VMs, one IP":      refuse("10.0.0.1:80", codes.Unavailable, profileVM("a", "10.0.0.1"), profileVM("b", "10.0.0.1")),
		"3.1 two with one IP":      refuse("10.96.0.1:80", codes.Unavailable, profileService("web", withClusterIPs("10.96.0.1")), profileService("db", withClusterIPs("10.96.0.1"))),
		"P25 two pods, one port":   refuse("192.168.0.1:8080", codes.Unavailable, profilePod("a", "10.0.0.1", mapsPort), profilePod("b", "10.0.0.2", mapsPort)),
		"2.1 the port is a word":   refuse("web.ns.svc.cluster.local:http", codes.InvalidArgument),
		"3.1 a trailing dot":       refuse("web.ns.svc.cluster.local.:80", codes.InvalidArgument, profileService("web")),
		"Q7 gone with its Service": refuse("web-0.web.ns.svc.cluster.local:80", codes.NotFound),
	})
}

// mapsPort maps the port 80 of a pod to 8080 on its host.
func mapsPort(w *catalog.Workload) {
	w.HostIPs, w.Ports = profileIPs("192.168.0.1"), []catalog.WorkloadPort{{Name: "http", Port: 80, HostPort: 8080}}
}

func TestGetProfileOfService(t *testing.T) {
	web := profileService("web", withClusterIPs("10.96.0.1", "fd00::96"))
	own, clients := profileOn("ns", "own"), profileOn("client-ns", "client's")
	first := func(path, token string, want *pb.DestinationProfile, objects ...catalog.Object) profilePlay {
		return profilePlay{path: path, token: token, events: []profileEvent{after(want, objects...)}}
	}
	playProfiles(t, map[string]profilePlay{
		"P2 a legacy token":           first(webPath, "ns:other", wantProfileOn("ns", "own"), web, own),
		"P3 a JSON token":             first(webPath, `{"ns":"other"}`, wantProfileOn("ns", "own"), web, own, clients),
		"P4 the client's profile":     first(webPath, `{"ns":"client-ns"}`, wantProfileOn("client-ns", "client's"), web, own, clients),
		"P5 a cluster IP":             first("10.96.0.1:80", "", wantService("web"), web),
		"P6 a second cluster IP":      first("[fd00::96]:80", "", wantService("web"), web),
		"3.1 IPv4 written as IPv6":    first("[::ffff:10.96.0.1]:80", "", wantService("web"), web),
		"2.1 port 80 is understood":   first("web.ns.svc.cluster.local", "", wantService("web"), web),
		"2.3 a token of nonsense":     first(webPath, "{", wantService("web"), web),
		"P16 opaque pods":             first("10.96.0.1:80", "", wantService("web"), web, profilePod("a", "10.0.0.1", profileAnnotated("80"))),
		"P18 opaque":                  first(webPath, "", wantService("web", wantOpaque), profileService("web", withOpaquePorts("80"))),
		"Q22 the port is undeclared":  first("web.ns.svc.cluster.local:81", "", &pb.DestinationProfile{}, web, own),
		"Q22 P1 ExternalName":         first(webPath, "", &pb.DestinationProfile{}, profileService("web", withPorts(), func(s *catalog.Service) { s.ExternalName = true })),
		"Q28 an invalid profile":      first(webPath, "", wantService("web"), web, webProfile(catalog.Route{Name: "r"})),
		"Q28 the client's is invalid": first(webPath, "ns:client-ns", wantService("web"), web, own, edited(profileOn("client-ns", "r"), []func(*catalog.ServiceProfile){func(p *catalog.ServiceProfile) { p.Routes[0].Condition = nil }})),
	})
}

func TestGetProfileOfAddress(t *testing.T) {
	first := func(path string, want *pb.DestinationProfile, objects ...catalog.Object) profilePlay {
		return profilePlay{path: path, events: []profileEvent{after(want, objects...)}}
	}
	skips := func(w *catalog.Workload) { w.SkipInboundPorts = portsOf("80") }
	over := func(w *catalog.Workload) { w.Running, w.Finished = false, true }
	dying := func(w *catalog.Workload) { w.Terminating = true }
	db := wantAddress("10.0.0.1:3306", wantPod("a"), wantOpaque)
	playProfiles(t, map[string]profilePlay{
		"P8 a pod's IP":           first("10.0.0.1:80", wantAddress("10.0.0.1:80", wantPod("a"), wantMeshed), profilePod("a", "10.0.0.1", meshed)),
		"P9 its second IP":        first("[fd00::1]:80", wantAddress("[fd00::1]:80", wantPod("a"), wantMeshed), profilePod("a", "10.0.0.1", meshed, func(w *catalog.Workload) { w.IPs = profileIPs("10.0.0.1", "fd00::1") })),
		"P12 an ExternalWorkload": first("10.1.0.1:80", wantAddress("10.1.0.1:80", wantVM("vm")), profileVM("vm", "10.1.0.1")),
		"P12 §A.4 with an owner": first("10.1.0.1:80", wantAddress("10.1.0.1:80", wantVM("vm"), wantLabel("WorkloadGroup", "g")),
			profileVM("vm", "10.1.0.1", func(w *catalog.Workload) { w.Owner = catalog.OwnerRef{Kind: "WorkloadGroup", Name: "g"} })),
		"P13 an unknown IP":        first("10.9.9.9:80", wantAddress("10.9.9.9:80")),
		"P14 opaque by default":    first("10.0.0.1:3306", db, profilePod("a", "10.0.0.1"), profilePod("b", "10.0.0.1", over), profilePod("c", "10.0.0.1", dying)),
		"P15 unmeshed":             first("10.0.0.1:80", wantAddress("10.0.0.1:80", wantPod("a")), profilePod("a", "10.0.0.1")),
		"P17 annotated":            first("10.0.0.1:4242", wantAddress("10.0.0.1:4242", wantPod("a"), wantMeshed, wantTransport), profilePod("a", "10.0.0.1", meshed, profileAnnotated("4242"))),
		"P19 a skipped port":       first("10.0.0.1:80", wantAddress("10.0.0.1:80", wantPod("a"), wantLabel("control_plane_ns", "linkerd")), profilePod("a", "10.0.0.1", meshed, skips)),
		"P20 an annotated VM":      first("10.1.0.1:80", wantAddress("10.1.0.1:80", wantVM("vm"), wantTransport), profileVM("vm", "10.1.0.1", profileAnnotated("80"))),
		"P21 a Server for a pod":   first("10.0.0.1:80", wantAddress("10.0.0.1:80", wantPod("a"), wantMeshed, wantTransport), profilePod("a", "10.0.0.1", meshed), profileOpaqueServer(80)),
		"P21 a Server for a VM":    first("10.1.0.1:80", wantAddress("10.1.0.1:80", wantVM("vm"), wantTransport), profileVM("vm", "10.1.0.1"), profileOpaqueServer(80)),
		"P22 outside, 3306":        first("93.184.216.34:3306", wantAddress("93.184.216.34:3306", wantOpaque)),
		"P22 outside, 80":          first("93.184.216.34:80", wantAddress("93.184.216.34:80")),
		"2.8 not to be described":  first("10.0.0.1:80", wantAddress("10.0.0.1:80"), profilePod("a", "10.0.0.1", meshed, func(w *catalog.Workload) { w.Proxy = nil })),
		"P7 a name in a set":       first("web-0.web.ns.svc.cluster.local:80", wantAddress("10.0.0.1:80", wantPod("a"), wantMeshed), profilePod("a", "10.0.0.1", meshed), profileSet()),
		"Q7 a name without target": first("bare.web.ns.svc.cluster.local:80", wantAddress("10.0.0.9:80"), profileSet()),
		"Q7 a name of a VM":        first("vm.web.ns.svc.cluster.local:80", wantAddress("10.1.0.1:80", wantVM("vm")), profileVM("vm", "10.1.0.1"), profileSet()),
	})
}

// profileSet is the slice of a StatefulSet web, with all kinds of endpoints.
func profileSet() *catalog.EndpointSlice {
	key := func(kind catalog.WorkloadKind, name string) catalog.WorkloadKey {
		return catalog.WorkloadKey{Kind: kind, Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}
	}
	ip := func(s string) []netip.Addr { return profileIPs(s) }
	return &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "ns", Name: "web-1", Service: profileService("web").Key, AddressType: catalog.IPv4,
		Subsets: []catalog.Subset{{Endpoints: []catalog.SliceEndpoint{
			{Addresses: ip("10.0.0.8")},
			{Addresses: ip("10.0.0.9"), Hostname: "bare"},
			{Addresses: ip("10.0.0.1"), Hostname: "web-0", Target: key(catalog.Pod, "a")},
			{Addresses: ip("10.1.0.1"), Hostname: "vm", Target: key(catalog.ExternalWorkload, "vm")},
		}}},
	}
}
