package destination

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/catalog"
)

// event changes objects, and has the messages that a client then gets.
type event struct {
	put    []catalog.Object
	remove []catalog.ID
	want   []string
}

// sequence is a stream with its start and the events after it.
type sequence struct {
	config  func(*Config)
	objects []catalog.Object
	token   string
	path    string // unless getPath
	events  []event
}

func runSequences(t *testing.T, cases map[string]sequence) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tc.run(t) })
		})
	}
}

func (s sequence) run(t *testing.T) {
	config := testConfig()
	if s.config != nil {
		s.config(&config)
	}
	if s.path == "" {
		s.path = getPath
	}
	f := start(t, config, s.objects...)
	c := f.get(s.path, s.token)
	f.settle()
	for i, e := range s.events {
		f.change(e.put, e.remove...)
		if diff := cmp.Diff(e.want, transcript(c.newMessages())); diff != "" {
			t.Errorf("event %d (-want +got):\n%s", i, diff)
		}
	}
	if got := c.ended(); got != "open" {
		t.Errorf("the stream has ended with %s", got)
	}
}

func put(objects ...catalog.Object) []catalog.Object { return objects }

// Adding and removing endpoints (§2.6, §9.3; E1, E2, E6, E7, E13). The first event of each sequence has the
// first response of the stream.
func TestGetAddAndRemove(t *testing.T) {
	const first, second, sixth = "10.0.0.1:8080", "10.0.0.2:8080", "[fd00::6]:8080"
	web, a, b, c, vm, box := service("web"), pod("a"), pod("b"), pod("c"), external("vm"), external("box")
	v4 := func(name string, endpoints ...catalog.SliceEndpoint) *catalog.EndpointSlice {
		return slice(name, endpoints...)
	}
	gate, gate2 := at("10.0.0.1", catalog.WorkloadKey{}), at("10.0.0.2", catalog.WorkloadKey{})
	runSequences(t, map[string]sequence{
		"E1 gateways": {objects: put(web, v4("s", gate, gate2)), events: []event{
			{want: []string{"add " + first + " " + second}},
			{put: put(v4("s", gate)), want: []string{"remove " + second}},
		}},
		"E2 add, remove, add": {objects: put(web, v4("s", gate)), events: []event{
			{want: []string{"add " + first}},
			{put: put(v4("s")), want: []string{"remove " + first}},
			{put: put(v4("s", gate)), want: []string{"add " + first}},
		}},
		"E6 pods": {objects: put(web, a, b, v4("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))), events: []event{
			{want: []string{"add " + first + " " + second}},
			{put: put(v4("s", at("10.0.0.2", podKey("b")))), want: []string{"remove " + first}},
		}},
		"E7 pods, one of IPv6": {objects: put(web, a, b, c, v4("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b"))), slice("s6", at("fd00::6", podKey("c")))), events: []event{
			{want: []string{"add " + first + " " + second + " " + sixth}},
			{put: put(slice("s6")), want: []string{"remove " + sixth}},
		}},
		"E13 ExternalWorkloads": {objects: put(web, vm, box, v4("s", at("10.0.0.1", externalKey("vm")), at("10.0.0.2", externalKey("box")))), events: []event{
			{want: []string{"add " + first + " " + second}},
			{remove: []catalog.ID{externalKey("box").ID()}, want: []string{"remove " + second}},
		}},
		"Q14 another port: add, then remove": {objects: put(web, a, v4("s", at("10.0.0.1", podKey("a")))), events: []event{
			{want: []string{"add " + first}},
			{put: put(serving(9090, v4("s", at("10.0.0.1", podKey("a"))))), want: []string{"add 10.0.0.1:9090", "remove " + first}},
		}},
		"Q36 another pod on the IP: no remove": {objects: put(web, a, b, v4("s", at("10.0.0.1", podKey("a")))), events: []event{
			{want: []string{"add " + first}},
			{put: put(v4("s", at("10.0.0.1", podKey("b")))), want: []string{"add " + first}},
		}},
	})
}

// The first response of a stream, and the responses when a Service or all of its endpoints are added or
// deleted (§2.6, Q1, Q13, Q15, Q33).
func TestGetFirstResponse(t *testing.T) {
	const first = "10.0.0.1:8080"
	web, a, s := service("web"), pod("a"), slice("s", at("10.0.0.1", podKey("a")))
	mirrored := gateway("", "shop.prod.svc.remote", slice("m"))
	mirrored.Mirror = catalog.Mirror{Cluster: "west", Namespace: "prod", Name: "shop"}
	runSequences(t, map[string]sequence{
		"Q1 no slices": {objects: put(web), events: []event{
			{want: []string{"no_endpoints exists=true"}},
			{put: put(a, s), want: []string{"add " + first}},
			{put: put(slice("s")), want: []string{"remove " + first}},
		}},
		"Q13 the pod comes late": {objects: put(web, s), events: []event{
			{want: []string{"no_endpoints exists=true"}},
			{put: put(a), want: []string{"add " + first}},
		}},
		"the pod is edited": {objects: put(web, a, s), events: []event{
			{want: []string{"add " + first}},
			{put: put(pod("a", opaqueOn("8080"))), want: []string{"add " + first}},
			{put: put(pod("a", opaqueOn("8080")))}, // unchanged
		}},
		"the Service is deleted and is created again": {objects: put(web, a, s), events: []event{
			{want: []string{"add " + first}},
			{remove: []catalog.ID{web.ID()}, want: []string{"remove " + first}},
			{put: put(web), want: []string{"add " + first}},
		}},
		"it becomes ExternalName": {objects: put(web, a, s), events: []event{
			{want: []string{"add " + first}},
			{put: put(service("web", func(s *catalog.Service) { s.ExternalName = true })), want: []string{"remove " + first}},
			{put: put(web), want: []string{"add " + first}},
		}},
		"Q15 the labels change": {objects: put(web, a, s), events: []event{
			{want: []string{"add " + first}},
			{put: put(mirrored), want: []string{"add " + first}},
		}},
		"another Service": {objects: put(web, a, s), events: []event{
			{want: []string{"add " + first}},
			{put: put(service("other"), pod("b"))},
		}},
		"W8 a hostname and an undeclared port": {
			path:    "h.web.ns.svc.mycluster.local:5959",
			objects: put(web, a, slice("s", at("10.0.0.1", podKey("a"), func(e *catalog.SliceEndpoint) { e.Hostname = "h" }), at("10.0.0.2", podKey("a")))),
			events:  []event{{want: []string{"add 10.0.0.1:5959"}}},
		},
	})
}

// IP families (§2.5, §9.1; G3, G4, G5, and G12 to G16 on one stream).
func TestGetFamilies(t *testing.T) {
	const four, six = "10.0.0.1:8080", "[fd00::1]:8080"
	web, a := service("web"), pod("a")
	s4, s6 := slice("s4", at("10.0.0.1", podKey("a"))), slice("s6", at("fd00::1", podKey("a")))
	again := slice("s5", at("10.0.0.1", podKey("a")))
	runSequences(t, map[string]sequence{
		"G3 IPv4": {objects: put(web, a, s4), events: []event{{want: []string{"add " + four}}, {}}},
		"G4 IPv6": {objects: put(web, a, s6), events: []event{{want: []string{"add " + six}}}},
		"G5 to G16": {objects: put(web, a, s4, s6), events: []event{
			{want: []string{"add " + six}},
			{remove: []catalog.ID{s6.ID()}, want: []string{"add " + four, "remove " + six}},
			{put: put(s6), want: []string{"add " + six, "remove " + four}},
			{put: put(again)},
			{remove: []catalog.ID{again.ID()}},
			{remove: []catalog.ID{s4.ID()}},
		}},
		"IPv6 is off": {config: func(c *Config) { c.EnableIPv6 = false }, objects: put(web, a, s4, s6), events: []event{
			{want: []string{"add " + four}},
			{remove: []catalog.ID{s6.ID()}},
		}},
	})
}

// Clients on different nodes and in different zones (§2.5, §9.5; S12, S14, S15, S16), and nodes that change
// their zone.
func TestGetPlaces(t *testing.T) {
	const first, second = "10.0.0.1:8080", "10.0.0.2:8080"
	const n1 = `{"ns":"ns","nodeName":"n1"}`
	hint := func(zones ...string) func(*catalog.SliceEndpoint) {
		return func(e *catalog.SliceEndpoint) { e.HintZones = zones }
	}
	hintNode := func(node string) func(*catalog.SliceEndpoint) {
		return func(e *catalog.SliceEndpoint) { e.HintNodes = []string{node} }
	}
	web, a := service("web"), pod("a")
	b := pod("b", func(w *catalog.Workload) { w.Node = "n2" })
	local := service("web", func(s *catalog.Service) { s.LocalTraffic = true })
	plain := slice("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))
	apart := slice("s", at("10.0.0.1", podKey("a"), hint("east")), at("10.0.0.2", podKey("b"), hint("west")))
	east, west := nodeIn("n1", "east"), nodeIn("n1", "west")
	runSequences(t, map[string]sequence{
		"S14 hints": {token: n1, objects: put(web, a, b, apart, east), events: []event{
			{want: []string{"add " + first}},
			{put: put(slice("s", at("10.0.0.1", podKey("a"), hint("east"))))},
		}},
		"S12 hints are added and removed": {token: n1, objects: put(web, a, b, plain, east), events: []event{
			{want: []string{"add " + first + " " + second}},
			// With hints, the zone decides whether an endpoint is near.
			{put: put(apart), want: []string{"remove " + second}},
			{put: put(plain), want: []string{"add " + second}},
		}},
		"the node is relabelled": {token: n1, objects: put(web, a, b, apart, east), events: []event{
			{want: []string{"add " + first}},
			{put: put(west), want: []string{"add " + second, "remove " + first}},
		}},
		"the node becomes known": {token: n1, objects: put(web, a, b, apart), events: []event{
			{want: []string{"add " + first + " " + second}},
			{put: put(west), want: []string{"remove " + first}},
			{remove: []catalog.ID{west.ID()}, want: []string{"add " + first}},
		}},
		"S15 Local": {token: n1, objects: put(local, a, b, plain), events: []event{
			{want: []string{"add " + first}},
			{put: put(slice("s", at("10.0.0.1", podKey("a"))))},
		}},
		"S16 Local and back": {token: n1, objects: put(local, a, b, plain), events: []event{
			{want: []string{"add " + first}},
			{put: put(web), want: []string{"add " + second}},
			{put: put(local), want: []string{"remove " + second}},
		}},
		"Local on a node without pods": {token: `{"nodeName":"n3"}`, objects: put(local, a, b, plain), events: []event{
			{want: []string{"no_endpoints exists=true"}},
			{put: put(web), want: []string{"add " + first + " " + second}},
		}},
		"Local, and the node gets a pod": {token: n1, objects: put(local, b, slice("s", at("10.0.0.2", podKey("b")))), events: []event{
			{want: []string{"no_endpoints exists=true"}},
			{put: put(a, plain), want: []string{"add " + first}},
			{put: put(slice("s", at("10.0.0.2", podKey("b")))), want: []string{"remove " + first}},
		}},
		"the node gets the first hint": {token: n1, objects: put(web, a, b, slice("s", at("10.0.0.1", podKey("a"), hintNode("n3")), at("10.0.0.2", podKey("b"), hintNode("n2")))), events: []event{
			{want: []string{"add " + first + " " + second}},
			{put: put(slice("s", at("10.0.0.1", podKey("a"), hintNode("n1")), at("10.0.0.2", podKey("b"), hintNode("n2")))), want: []string{"remove " + second}},
			{put: put(slice("s", at("10.0.0.1", podKey("a"), hintNode("n3")), at("10.0.0.2", podKey("b"), hintNode("n2")))), want: []string{"add " + second}},
		}},
		"C3 a token that can't be read": {token: "123fa-test", objects: put(web, a, b, apart, east), events: []event{
			{want: []string{"add " + first + " " + second}},
		}},
	})
}

// A Server that makes a pod opaque is edited so that it no longer selects the pod, and back (G9).
func TestGetServerEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := labelled(map[string]string{catalog.ControlPlaneLabel: "linkerd", "app": "web"})
		f := start(t, testConfig(), service("web"), pod("a", app), slice("s", at("10.0.0.1", podKey("a"))), opaqueServer(8080, "web"))
		c := f.get(getPath, "")
		f.settle()
		for i, selected := range []string{"web", "db", "web"} {
			f.change(put(opaqueServer(8080, selected)))
			updates := c.newMessages()
			if len(updates) != 1 || len(updates[0].GetAdd().GetAddrs()) != 1 {
				t.Fatalf("event %d: %v, want one add", i, transcript(updates))
			}
			hint := updates[0].GetAdd().GetAddrs()[0].GetProtocolHint()
			_, opaque := hint.GetProtocol().(*pb.ProtocolHint_Opaque_)
			if want := selected == "web"; opaque != want || (hint.GetOpaqueTransport() != nil) != want {
				t.Errorf("event %d: %v, want opaque: %v", i, hint, want)
			}
		}
	})
}
