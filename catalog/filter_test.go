package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inZone puts an endpoint into a zone and hints it to others.
func inZone(zone string, hints ...string) func(*SliceEndpoint) {
	return func(e *SliceEndpoint) { e.Zone, e.HintZones = zone, hints }
}

func hinted(zones ...string) func(*SliceEndpoint) { return inZone("", zones...) }

func fromZone(zone string) Query { return Query{Filter: Filter{Kind: FilterZone, Zone: zone}} }

// Zone hints (§2.5 step 4).
func TestResolveHints(t *testing.T) {
	base := []Object{service("web"), pod("a"), pod("b"), pod("c")}
	with := func(endpoints ...SliceEndpoint) []Object {
		return append(base[:4:4], slice("s", "web", IPv4, endpoints...))
	}
	apart := with(at("10.0.0.1", podKey("a"), hinted("east")), at("10.0.0.2", podKey("b"), hinted("west")))
	onlyA, both := []string{"10.0.0.1:8080 a"}, []string{"10.0.0.1:8080 a", "10.0.0.2:8080 b"}
	runResolve(t, map[string]resolveCase{
		"S14 hinted to different zones":      {objects: apart, query: fromZone("east"), want: onlyA},
		"none is hinted to the zone: all":    {objects: apart, query: fromZone("north"), want: both},
		"the zone is unknown: all":           {objects: apart, query: Query{}, want: both},
		"one has no hints: all":              {objects: with(at("10.0.0.1", podKey("a"), hinted("east")), at("10.0.0.2", podKey("b"))), query: fromZone("east"), want: both},
		"its own zone is no hint":            {objects: with(at("10.0.0.1", podKey("a"), inZone("east")), at("10.0.0.2", podKey("b"), inZone("west"))), query: fromZone("east"), want: both},
		"hints beat the zone it is in":       {objects: with(at("10.0.0.1", podKey("a"), inZone("west", "east")), at("10.0.0.2", podKey("b"), inZone("east", "west"))), query: fromZone("east"), want: onlyA},
		"several hints":                      {objects: with(at("10.0.0.1", podKey("a"), hinted("east", "north")), at("10.0.0.2", podKey("b"), hinted("east", "west"))), query: fromZone("west"), want: both[1:]},
		"one without hints in another slice": {objects: append(apart[:5:5], slice("s2", "web", IPv4, at("10.0.0.3", podKey("c")))), query: fromZone("east"), want: append(both[:2:2], "10.0.0.3:8080 c")},
		"one without hints that doesn't count": {
			// The third endpoint has another hostname, so it is no candidate.
			objects: with(at("10.0.0.1", podKey("a"), hinted("east"), named("h")), at("10.0.0.2", podKey("b"), hinted("west"), named("h")), at("10.0.0.3", podKey("c"), named("i"))),
			query:   Query{Hostname: "h", Filter: Filter{Kind: FilterZone, Zone: "east"}}, want: onlyA,
		},
		// An endpoint may be in two slices while a controller moves it, or beside a slice that somebody wrote.
		"a duplicate without hints":             {objects: append(apart[:5:5], slice("s2", "web", IPv4, at("10.0.0.1", podKey("a")))), query: fromZone("east"), want: onlyA},
		"a duplicate without hints comes first": {objects: append(apart[:5:5], slice("r", "web", IPv4, at("10.0.0.1", podKey("a")))), query: fromZone("east"), want: onlyA},
		"one without hints of a missing pod":    {objects: append(apart[:5:5], slice("s2", "web", IPv4, at("10.0.0.4", podKey("gone")))), query: fromZone("east"), want: onlyA},
	})
}

// Hints for nodes are used as in kube-proxy (mesh finding 13).
func TestResolveNodeHints(t *testing.T) {
	to := func(zone string, nodes ...string) func(*SliceEndpoint) {
		return func(e *SliceEndpoint) { e.HintZones, e.HintNodes = []string{zone}, nodes }
	}
	with := func(endpoints ...SliceEndpoint) []Object {
		return []Object{service("web"), pod("a"), pod("b"), pod("c"), slice("s", "web", IPv4, endpoints...)}
	}
	a, b, c := "10.0.0.1:8080 a", "10.0.0.2:8080 b", "10.0.0.3:8080 c"
	all := with(at("10.0.0.1", podKey("a"), to("east", "n1")), at("10.0.0.2", podKey("b"), to("east", "n2")), at("10.0.0.3", podKey("c"), to("west", "n3")))
	one := with(at("10.0.0.1", podKey("a"), to("east", "n1")), at("10.0.0.2", podKey("b"), to("east")), at("10.0.0.3", podKey("c"), to("west", "n3")))
	on := func(node, zone string) Query { return Query{Filter: Filter{Kind: FilterHints, Zone: zone, Node: node}} }
	runResolve(t, map[string]resolveCase{
		"one for the node":               {objects: all, query: on("n1", "east"), want: []string{a}},
		"none for the node: its zone":    {objects: all, query: on("n4", "east"), want: []string{a, b}},
		"none for node and zone: all":    {objects: all, query: on("n4", "north"), want: []string{a, b, c}},
		"one has none for nodes: a zone": {objects: one, query: on("n1", "east"), want: []string{a, b}},
		"the zone is unknown":            {objects: all, query: on("n3", ""), want: []string{c}},
	})
	if kind := snapshotOf("web", all...).filterKind(); kind != FilterHints {
		t.Errorf("the filter kind is %v", kind)
	}
}

// internalTrafficPolicy Local (§2.5 step 3).
func TestResolveLocalTraffic(t *testing.T) {
	on := func(node string) func(*Workload) { return func(w *Workload) { w.Node = node } }
	objects := []Object{
		service("web"), pod("a", on("n1")), pod("b", on("n2")), workload(externalKey("vm"), on("n1")),
		slice("s", "web", IPv4,
			at("10.0.0.1", podKey("a"), hinted("west")), at("10.0.0.2", podKey("b"), hinted("east")),
			at("10.0.0.3", externalKey("vm"), hinted("east")), at("10.0.0.4", WorkloadKey{}, hinted("east"))),
	}
	local := func(node string) Query { return Query{Filter: Filter{Kind: FilterNode, Zone: "east", Node: node}} }
	runResolve(t, map[string]resolveCase{
		"S15 only pods of the node, whatever the hints": {objects: objects, query: local("n1"), want: []string{"10.0.0.1:8080 a"}},
		"S15 on the other node":                         {objects: objects, query: local("n2"), want: []string{"10.0.0.2:8080 b"}},
		"no fallback":                                   {objects: objects, query: local("n3")},
		"the node is unknown":                           {objects: objects, query: local("")},
		"S16 without the policy":                        {objects: objects, query: Query{}, want: []string{"10.0.0.1:8080 a", "10.0.0.2:8080 b", "10.0.0.3:8080 vm", "10.0.0.4:8080 -"}},
	})
}

// IP families (§2.5 step 5).
func TestResolveFamily(t *testing.T) {
	const v4, v6 = "10.0.0.1:8080 a", "[fd00::1]:8080 a"
	dual := func(four, six func(*SliceEndpoint)) []Object {
		return []Object{
			service("web"), pod("a"),
			slice("s4", "web", IPv4, at("10.0.0.1", podKey("a"), four)), slice("s6", "web", IPv6, at("fd00::1", podKey("a"), six)),
		}
	}
	east, west := hinted("east"), hinted("west")
	plain := func(*SliceEndpoint) {}
	one := func(s *EndpointSlice) []Object {
		return []Object{service("web"), pod("a"), pod("b"), workload(externalKey("vm")), s}
	}
	zoned := func(ipv6 bool) Query { q := fromZone("east"); q.IPv6 = ipv6; return q }
	on, off := Query{IPv6: true}, Query{}
	external := append(one(slice("s4", "web", IPv4, at("10.0.0.1", externalKey("vm")))), slice("s6", "web", IPv6, at("fd00::1", externalKey("vm"))))
	subsets := one(slice("s", "web", "", at("10.0.0.1", podKey("a")), at("fd00::1", podKey("a"))))
	bare := one(slice("s", "web", IPv6, at("fd00::1", WorkloadKey{})))
	runResolve(t, map[string]resolveCase{
		"G3 only IPv4":                               {objects: one(slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))), query: on, want: []string{v4}},
		"G4 only IPv6":                               {objects: one(slice("s", "web", IPv6, at("fd00::1", podKey("a")))), query: on, want: []string{v6}},
		"only IPv6, and IPv6 is off":                 {objects: one(slice("s", "web", IPv6, at("fd00::1", podKey("a")))), query: off},
		"G5 both: IPv6":                              {objects: dual(plain, plain), query: on, want: []string{v6}},
		"both, and IPv6 is off":                      {objects: dual(plain, plain), query: off, want: []string{v4}},
		"S13 both hinted to the client's zone: IPv6": {objects: dual(east, east), query: zoned(true), want: []string{v6}},
		"S13 IPv6 hinted to another zone: IPv4":      {objects: dual(east, west), query: zoned(true), want: []string{v4}},
		"IPv4 hinted to another zone: IPv6":          {objects: dual(west, east), query: zoned(true), want: []string{v6}},
		// Addresses of an unusable IP family don't influence the choice of endpoints by hints (mesh finding
		// 2).
		"IPv6 is off and hinted to the zone: IPv4":      {objects: dual(west, east), query: zoned(false), want: []string{v4}},
		"another pod's IPv6 doesn't matter":             {objects: append(one(slice("s4", "web", IPv4, at("10.0.0.1", podKey("a")))), slice("s6", "web", IPv6, at("fd00::2", podKey("b")))), query: on, want: []string{v4, "[fd00::2]:8080 b"}},
		"G14 two IPv4 slices beside IPv6":               {objects: append(dual(plain, plain), slice("s5", "web", IPv4, at("10.0.0.1", podKey("a")))), query: on, want: []string{v6}},
		"Q18 both, of an ExternalWorkload":              {objects: external, query: on, want: []string{"[fd00::1]:8080 vm"}},
		"Q18 both, of an ExternalWorkload, IPv6 is off": {objects: external, query: off, want: []string{"10.0.0.1:8080 vm"}},
		"subsets have no family":                        {objects: subsets, query: on, want: []string{v4, v6}},
		"subsets have no family, IPv6 is off":           {objects: subsets, query: off, want: []string{v4, v6}},
		"gateways have no family, IPv6 is off":          {objects: bare, query: off, want: []string{"[fd00::1]:8080 -"}},
	})
}

func TestFilterKind(t *testing.T) {
	local := func(s *Service) { s.LocalTraffic = true }
	a := pod("a")
	plain := slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))
	zone := slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), inZone("east")))
	hint := slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), hinted("east")))
	bareZone := slice("s", "web", IPv4, at("10.0.0.1", WorkloadKey{}, inZone("east")))
	subsets := slice("s", "web", "", at("10.0.0.1", podKey("a"), inZone("east")))
	subsets.Subsets = append(subsets.Subsets, Subset{Ports: subsets.Subsets[0].Ports})
	for name, tc := range map[string]struct {
		objects []Object
		want    FilterKind
	}{
		"a zone in one subset of two":     {objects: []Object{service("web"), a, subsets}, want: FilterZone},
		"no Service":                      {want: FilterNone},
		"nothing about zones":             {objects: []Object{service("web"), a, plain}, want: FilterNone},
		"a zone":                          {objects: []Object{service("web"), a, zone}, want: FilterZone},
		"a hint":                          {objects: []Object{service("web"), a, hint}, want: FilterZone},
		"a zone of a pod that is missing": {objects: []Object{service("web"), zone}, want: FilterNone},
		"a zone that doesn't count":       {objects: []Object{service("web"), bareZone}, want: FilterNone},
		"Local":                           {objects: []Object{service("web", local), a, plain}, want: FilterNode},
		"Local and zones":                 {objects: []Object{service("web", local), a, zone}, want: FilterNode},
		"a zone in one slice of two":      {objects: []Object{service("web"), a, zone, slice("s2", "web", IPv4)}, want: FilterZone},
		"zones without a Service":         {objects: []Object{a, zone}, want: FilterZone},
	} {
		t.Run(name, func(t *testing.T) {
			if got := snapshotOf("web", tc.objects...).filterKind(); got != tc.want {
				t.Errorf("= %v, want %v", got, tc.want)
			}
		})
	}
}

// TestFilterFor shows that a filter only has a node or zone on which the response depends.
func TestFilterFor(t *testing.T) {
	known, zoneless, nodeless := Client{"n1", "east"}, Client{Node: "n1"}, Client{}
	for name, tc := range map[string]struct {
		kind   FilterKind
		client Client
		want   Filter
	}{
		"none":                 {FilterNone, known, Filter{}},
		"zone":                 {FilterZone, known, Filter{Kind: FilterZone, Zone: "east"}},
		"zone unknown":         {FilterZone, zoneless, Filter{}},
		"zone, client unknown": {FilterZone, nodeless, Filter{}},
		"hints":                {FilterHints, known, Filter{FilterHints, "east", "n1"}},
		"hints, node unknown":  {FilterHints, Client{Zone: "east"}, Filter{Kind: FilterZone, Zone: "east"}},
		"hints, no place":      {FilterHints, nodeless, Filter{}},
		"node":                 {FilterNode, known, Filter{FilterNode, "east", "n1"}},
		"node, zone unknown":   {FilterNode, zoneless, Filter{Kind: FilterNode, Node: "n1"}},
		"node, client unknown": {FilterNode, nodeless, Filter{Kind: FilterNode}},
		"hints, made up":       {FilterHints, Client{"made-up", "made-up"}, Filter{}},
		"hints, only a zone":   {FilterHints, Client{"made-up", "east"}, Filter{Kind: FilterZone, Zone: "east"}},
		"zone, made up":        {FilterZone, Client{"n1", "made-up"}, Filter{}},
		"node, made up":        {FilterNode, Client{"made-up", "made-up"}, Filter{Kind: FilterNode}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, (&Filters{Kind: tc.kind, nodes: []string{"n1"}, zones: []string{"east"}}).For(tc.client)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
