package catalog

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawPlaced draws a Service web with pods on nodes, and a slice with hints, some of whose endpoints drain.
func drawPlaced(t *rapid.T) []Object {
	draw := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	web := service("web")
	web.LocalTraffic = rapid.IntRange(0, 3).Draw(t, "local") == 0
	objects := []Object{web}
	hinted := rapid.Bool().Draw(t, "all have hints")
	hints := func(label string, from ...string) []string {
		if !hinted && rapid.Bool().Draw(t, "without") {
			return nil
		}
		return []string{draw(label, from...)}
	}
	var endpoints []SliceEndpoint
	for i := range rapid.IntRange(1, 6).Draw(t, "endpoints") {
		name := string(rune('a' + i))
		objects = append(objects, pod(name, onNode(draw("node", "n1", "n2", "n3", ""))))
		e := at("10.0.0."+strconv.Itoa(i+1), podKey(name), zoned(draw("zone", "", "east", "west"), hints("zone hint", "east", "north")...))
		e.HintNodes = hints("node hint", "n1", "n2")
		if rapid.IntRange(0, 3).Draw(t, "draining") == 0 {
			drain(&e)
			if rapid.Bool().Draw(t, "hints removed") {
				e.HintNodes, e.HintZones = nil, nil
			}
		}
		endpoints = append(endpoints, e)
	}
	return append(objects, slice("s", "web", IPv4, endpoints...))
}

// TestQueriesShareFilters shows that queries of one snapshot have the same filters. With filters of its own for each of
// 18,000 hostnames of a Service with 1,000 hinted nodes, a client cost 4 GB.
func TestQueriesShareFilters(t *testing.T) {
	s := snapshotOf("web", service("web"), slice("s", "web", IPv4, at("10.0.0.1", WorkloadKey{}, func(e *SliceEndpoint) { e.HintNodes = []string{"n1"} })))
	for name, of := range map[string]func() *Filters{"Filters": s.Filters, "PriorityFilters": s.PriorityFilters} {
		if a, b := of(), of(); a != b {
			t.Errorf("%s: each query has filters of its own", name)
		}
	}
}

// TestFiltersLoseNothing shows that a client gets the same with its filter as with one that has its node and
// its zone, and that made-up nodes and zones share a filter.
func TestFiltersLoseNothing(t *testing.T) {
	made := Client{"made-up", "made-up"}
	clients := []Client{{}, {"n1", "east"}, {"n2", "west"}, {"n1", ""}, {"", "west"}, {"n2", "made-up"}, {"made-up", "east"}, made}
	rapid.Check(t, func(t *rapid.T) {
		s := snapshotOf("web", drawPlaced(t)...)
		get, all := s.Filters(), s.PriorityFilters()
		for _, c := range clients {
			whole := Filter{Kind: get.Kind, Zone: c.Zone, Node: c.Node}
			_, want := describe(s, whole)
			_, got := describe(s, get.For(c))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Get from %+v, by %+v (-want +got):\n%s", c, get.For(c), diff)
			}
			whole.Kind = all.Kind
			placed := showPlaced(ResolveAll(s, Query{Port: 80, IPv6: true, Filter: whole}))
			if diff := cmp.Diff(placed, showPlaced(ResolveAll(s, Query{Port: 80, IPv6: true, Filter: all.For(c)}))); diff != "" {
				t.Errorf("xDS from %+v, by %+v (-want +got):\n%s", c, all.For(c), diff)
			}
		}
		for _, f := range []Filter{get.For(Client{Node: "made-up"}), all.For(made)} {
			if f.Zone != "" || f.Node != "" {
				t.Errorf("a client at a made-up place has the filter %+v", f)
			}
		}
	})
}
