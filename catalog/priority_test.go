package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// showPlaced formats each endpoint: its priority, addresses, target and other fields.
func showPlaced(set PlacedSet) []string {
	var out []string
	for _, e := range set.Endpoints {
		line := fmt.Sprintf("%d %s", e.Priority, e.Addr)
		if e.Additional.IsValid() {
			line += "+" + e.Additional.String()
		}
		if e.Target != nil {
			line += " " + e.Target.Key.Name
		}
		if e.Draining {
			line += " draining"
		}
		if e.Region != "" {
			line += " in " + e.Region
		}
		out = append(out, line)
	}
	return out
}

func drain(e *SliceEndpoint) { e.NotReady, e.Draining = true, true }

func zoned(zone string, hints ...string) func(*SliceEndpoint) {
	return func(e *SliceEndpoint) { e.Zone, e.HintZones = zone, hints }
}

func onNode(node string) func(*Workload) { return func(w *Workload) { w.Node = node } }

func hintedNode(node string) func(*SliceEndpoint) {
	return func(e *SliceEndpoint) { e.HintNodes = []string{node} }
}

// The endpoints and priorities for xDS clients (xds cases 17, 19 to 22, 24 and 25).
func TestResolveAll(t *testing.T) {
	local := service("web", func(s *Service) { s.LocalTraffic = true })
	pods := []Object{pod("a", onNode("n1")), pod("b", onNode("n2")), pod("c", onNode("n3"))}
	zones := slice("s", "web", IPv4,
		at("10.0.0.1", podKey("a"), zoned("a", "a")), at("10.0.0.2", podKey("b"), zoned("b", "b")), at("10.0.0.3", podKey("c"), zoned("a"), drain))
	nodes := slice("s", "web", IPv4,
		at("10.0.0.1", podKey("a"), zoned("a", "a"), hintedNode("n1")), at("10.0.0.2", podKey("b"), zoned("a", "a"), hintedNode("n2")),
		at("10.0.0.3", podKey("c"), zoned("b", "b"), hintedNode("n3")))
	both := []Object{
		slice("v4", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b"), drain)),
		slice("v6", "web", IPv6, at("fd00::1", podKey("a"), drain), at("fd00::2", podKey("b"), drain)),
	}
	for name, tc := range map[string]struct {
		objects []Object
		client  Client
		ipv4    bool
		want    []string
	}{
		"17 the last endpoints are draining": {objects: []Object{service("web"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), drain), at("10.0.0.2", podKey("b"), notReady))}, want: []string{"0 10.0.0.1:8080 a"}},
		"one is draining":                    {objects: []Object{service("web"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), drain), at("10.0.0.2", podKey("b")))}, want: []string{"0 10.0.0.1:8080 a draining", "0 10.0.0.2:8080 b"}},
		"20 hints, unknown place":            {objects: []Object{service("web"), zones}, want: []string{"0 10.0.0.1:8080 a", "0 10.0.0.2:8080 b", "0 10.0.0.3:8080 c draining"}},
		"20 hints for zones":                 {objects: []Object{service("web"), zones}, client: Client{Zone: "a"}, want: []string{"0 10.0.0.1:8080 a", "1 10.0.0.2:8080 b", "0 10.0.0.3:8080 c draining"}},
		"20 a duplicate without hints":       {objects: []Object{service("web"), zones, slice("s2", "web", IPv4, at("10.0.0.1", podKey("a")))}, client: Client{Zone: "a"}, want: []string{"0 10.0.0.1:8080 a", "1 10.0.0.2:8080 b", "0 10.0.0.3:8080 c draining"}},
		"20 a zone without endpoints":        {objects: []Object{service("web"), zones}, client: Client{Zone: "z"}, want: []string{"0 10.0.0.1:8080 a", "0 10.0.0.2:8080 b", "0 10.0.0.3:8080 c draining"}},
		"21 hints for nodes":                 {objects: []Object{service("web"), nodes}, client: Client{Node: "n1", Zone: "a"}, want: []string{"0 10.0.0.1:8080 a", "1 10.0.0.2:8080 b", "2 10.0.0.3:8080 c"}},
		"21 no gap":                          {objects: []Object{service("web"), nodes}, client: Client{Node: "n3"}, want: []string{"1 10.0.0.1:8080 a", "1 10.0.0.2:8080 b", "0 10.0.0.3:8080 c"}},
		"22 the client's node":               {objects: []Object{local, zones}, client: Client{Node: "n2"}, want: []string{"0 10.0.0.2:8080 b"}},
		"22 draining on the client's node":   {objects: []Object{local, zones}, client: Client{Node: "n3"}, want: []string{"0 10.0.0.3:8080 c"}},
		"22 another node":                    {objects: []Object{local, zones}, client: Client{Node: "n9"}},
		"24 both families":                   {objects: append(both, service("web")), want: []string{"0 10.0.0.1:8080+[fd00::1]:8080 a", "0 10.0.0.2:8080+[fd00::2]:8080 b draining"}},
		"24 IPv6 first":                      {objects: append(both, service("web", func(s *Service) { s.IPv6First = true })), want: []string{"0 [fd00::1]:8080+10.0.0.1:8080 a", "0 [fd00::2]:8080+10.0.0.2:8080 b draining"}},
		"24 without IPv6":                    {objects: append(both, service("web")), ipv4: true, want: []string{"0 10.0.0.1:8080 a", "0 10.0.0.2:8080 b draining"}},
		"25 ready wins over draining": {
			objects: []Object{service("web"), slice("s1", "web", IPv4, at("10.0.0.1", podKey("a"), drain)), slice("s2", "web", IPv4, at("10.0.0.1", podKey("b")))},
			want:    []string{"0 10.0.0.1:8080 b"},
		},
		"regions": {
			objects: []Object{service("web"), zones, &Node{Cluster: LocalCluster, Name: "n1", Zone: "a", Region: "r"}, &Node{Cluster: LocalCluster, Name: "n2", Zone: "a", Region: "s"}},
			want:    []string{"0 10.0.0.1:8080 a in r", "0 10.0.0.2:8080 b", "0 10.0.0.3:8080 c draining in r"},
		},
		"19 an address without workload is in the zone of its slice": {
			objects: []Object{service("web"), slice("s", "web", IPv4, at("10.0.0.4", WorkloadKey{}, zoned("a"))), &Node{Cluster: LocalCluster, Name: "n1", Zone: "a", Region: "r"}},
			want:    []string{"0 10.0.0.4:8080 in r"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf("web", append(slices.Clone(pods), tc.objects...)...)
			got := ResolveAll(s, Query{Port: 80, IPv6: !tc.ipv4, Filter: s.PriorityFilters().For(tc.client)})
			if diff := cmp.Diff(tc.want, showPlaced(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// If a zone moves to another region, snapshots become stale. Deleted nodes leave no state.
func TestRegionOfZone(t *testing.T) {
	c := started(service("web"), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), zoned("a"))))
	for _, region := range []string{"r", "s", ""} {
		before := c.Service(serviceKey("web"))
		apply(c, &Node{Cluster: LocalCluster, Name: "n", Zone: "a", Region: region})
		if !isClosed(before.Stale()) {
			t.Errorf("region %q: the snapshot is not stale", region)
		}
		after := c.Service(serviceKey("web"))
		if got := ResolveAll(after, Query{Port: 80}).Endpoints[0].Region; got != region {
			t.Errorf("the region is %q, want %q", got, region)
		}
		before.Release()
		after.Release()
	}
	if n := len(c.state.regions.counts) + len(c.state.regions.ofZone); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

// The first and the last node of a zone change nothing for Services without endpoints there: where each site is
// a zone, each node is both. A node that is replaced within a step changes nothing at all.
func TestRegionsOfManyZones(t *testing.T) {
	objects := []Object{service("web"), slice("w", "web", IPv4, at("10.0.0.1", WorkloadKey{}, zoned("a"))), service("db"), slice("d", "db", IPv4, at("10.0.0.2", WorkloadKey{}, zoned("b")))}
	nodeIn := func(zone, region string) *Node {
		return &Node{Cluster: LocalCluster, Name: "node-" + zone, Zone: zone, Region: region}
	}
	c := started(append(objects, nodeIn("a", "r"), nodeIn("b", "r"))...)
	stale := func(change func()) (names []string) {
		snapshots := []*Snapshot{c.Service(serviceKey("db")), c.Service(serviceKey("web"))}
		change()
		c.step()
		for _, s := range snapshots {
			if isClosed(s.Stale()) {
				names = append(names, s.Key.Name)
			}
			s.Release()
		}
		return names
	}
	for what, change := range map[string]struct {
		do   func()
		want []string
	}{
		"a zone appears":    {func() { c.Put(nodeIn("c", "r")) }, nil},
		"a zone disappears": {func() { c.Delete(nodeIn("d", "").ID()) }, nil},
		"a zone moves":      {func() { c.Put(nodeIn("a", "s")) }, []string{"web"}},
		"zones swap nodes": {func() {
			c.Put(&Node{Cluster: LocalCluster, Name: "node-e", Zone: "f", Region: "r"})
			c.Put(&Node{Cluster: LocalCluster, Name: "node-f", Zone: "e", Region: "r"})
		}, nil},
	} {
		apply(c, nodeIn("a", "r"), nodeIn("d", "r"), nodeIn("e", "r"), nodeIn("f", "r"))
		if got := stale(change.do); !slices.Equal(got, change.want) {
			t.Errorf("%s: the snapshots of %s are stale, want %s", what, got, change.want)
		}
	}
}

// Draining endpoints don't affect the endpoints of Get, nor which clients share them.
func TestResolveIgnoresDraining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var with, without []Object
		for range rapid.IntRange(1, 8).Draw(t, "objects") {
			v := drawObject().Draw(t, "object")
			with, without = append(with, v), append(without, v)
			s, ok := v.(*EndpointSlice)
			if !ok {
				continue
			}
			dead := *s
			dead.Subsets = slices.Clone(s.Subsets)
			for i := range dead.Subsets {
				dead.Subsets[i].Endpoints = slices.Clone(s.Subsets[i].Endpoints)
				for k := range dead.Subsets[i].Endpoints {
					if rapid.Bool().Draw(t, "draining") {
						s.Subsets[i].Endpoints[k].NotReady, s.Subsets[i].Endpoints[k].Draining = true, true
						dead.Subsets[i].Endpoints[k].NotReady = true
					}
				}
			}
			without[len(without)-1] = &dead
		}
		for _, name := range []string{"a", "b"} {
			a, b := snapshotOf(name, with...), snapshotOf(name, without...)
			if a.filterKind() != b.filterKind() {
				t.Errorf("filter kind %v, want %v", a.filterKind(), b.filterKind())
			}
			for _, f := range []Filter{{}, {Kind: FilterZone, Zone: "east"}, {FilterNode, "east", "a"}} {
				_, got := describe(a, f)
				_, want := describe(b, f)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v (-want +got):\n%s", f, diff)
				}
			}
		}
	})
}

// No address appears twice. Without draining endpoints and hints, the addresses are those of Get (xds case
// 25).
func TestResolveAllAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []Object
		for range rapid.IntRange(1, 12).Draw(t, "objects") {
			objects = append(objects, drawObject().Draw(t, "object"))
		}
		for _, name := range []string{"a", "b"} {
			s := snapshotOf(name, objects...)
			seen := map[netip.AddrPort]bool{}
			for _, e := range ResolveAll(s, Query{Port: 80, IPv6: true}).Endpoints {
				for _, a := range []netip.AddrPort{e.Addr, e.Additional} {
					if a.IsValid() && seen[a] {
						t.Errorf("%v appears twice", a)
					}
					seen[a] = true
				}
			}
			for _, e := range Resolve(s, Query{Port: 80, IPv6: true}).Endpoints {
				if !seen[e.Addr] {
					t.Errorf("Get has %v, and ResolveAll does not", e.Addr)
				}
			}
		}
	})
}
