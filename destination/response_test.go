package destination

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// formsOf returns the state of a client after it was sent a set.
func formsOf(t testing.TB, entries []*entry) addressSet {
	known := addressSet{}
	for _, e := range entries {
		u := add(t, []*entry{e}, e.labels.wire)
		known[e.endpoint.Addr] = wireOf(u.GetAdd().GetAddrs()[0], u.GetAdd().GetMetricLabels())
	}
	return known
}

// play applies frames to the state of a client, and checks the rules of §2.6: adds precede removes, each
// address appears once, and only existing addresses that end are removed.
func play(t *rapid.T, tb testing.TB, known, to addressSet, frames []*frame) {
	removing := false
	named := map[netip.AddrPort]bool{}
	once := func(at netip.AddrPort) {
		if named[at] {
			t.Errorf("%s is named twice", at)
		}
		named[at] = true
	}
	for _, f := range frames {
		u := decode(tb, f)
		if u.GetAdd() != nil && removing {
			t.Error("an add after a remove")
		}
		for _, a := range u.GetAdd().GetAddrs() {
			at, form := addrPortOf(a.GetAddr()), wireOf(a, u.GetAdd().GetMetricLabels())
			once(at)
			if known[at] == form {
				t.Errorf("%s is added and hasn't changed", at)
			}
			known[at] = form
		}
		for _, a := range u.GetRemove().GetAddrs() {
			at := addrPortOf(a)
			once(at)
			if known[at] == "" {
				t.Errorf("%s is removed but didn't exist", at)
			}
			if to[at] != "" {
				t.Errorf("%s is removed and stays", at)
			}
			delete(known, at)
			removing = true
		}
		if u.GetNoEndpoints() != nil {
			t.Error("no_endpoints in a difference")
		}
	}
}

// Applying the difference of two responses to the first one gives the second one (§2.6; Q14, Q36).
func TestChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from, to := drawEntries().Draw(rt, "from"), drawEntries().Draw(rt, "to")
		known, want := formsOf(t, from), formsOf(t, to)
		play(rt, t, known, want, changes(from, to))
		if diff := cmp.Diff(want, known, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			rt.Errorf("after the difference (-want +got):\n%s", diff)
		}
		if n := len(changes(to, to)); n != 0 {
			rt.Errorf("%d messages where nothing changed", n)
		}
	})
}

// A stream that is behind gets the steps that it missed, which lead exactly to the current response. If the
// ring lacks some of them, it gets one difference.
func TestRing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		next := func() *response {
			return &response{
				entries: drawEntries().Draw(rt, "entries"), stale: make(chan struct{}),
				filters: rapid.SampledFrom([]*catalog.Filters{{}, {}, {}, {Kind: catalog.FilterZone}}).Draw(rt, "filters"),
			}
		}
		v := &view{}
		v.current.Store(next())
		history := []*response{v.current.Load()}
		for range rapid.IntRange(0, 2*ringSize).Draw(rt, "steps") {
			before, a := v.current.Load(), next()
			_, published := v.publish(a)
			if !slices.Equal(v.entries, a.entries) {
				rt.Fatal("the newest entries are not kept for the next response")
			}
			if published != (v.current.Load() == a) || published != channel.IsClosed(before.stale) {
				rt.Fatalf("published %v, which disagrees with the streams", published)
			}
			if published {
				history = append(history, a)
			} else if diff := cmp.Diff(formsOf(t, before.entries), formsOf(t, a.entries)); diff != "" {
				rt.Fatalf("not published, but different (-before +after):\n%s", diff)
			}
		}
		expectSince(rt, t, history)
	})
}

func expectSince(rt *rapid.T, t *testing.T, history []*response) {
	last := len(history) - 1
	current := history[last]
	if len(current.steps) > ringSize {
		rt.Errorf("%d steps are kept", len(current.steps))
	}
	reach := 0 // how far back the filters are the same, within the ring
	for reach < min(last, ringSize) && history[last-reach-1].filters.Same(history[last-reach].filters) {
		reach++
	}
	for i, a := range history {
		if a.version != uint64(i) {
			rt.Fatalf("response %d has version %d", i, a.version)
		}
		steps, ok := current.since(a.version)
		if ok != (last-i <= reach) {
			rt.Errorf("%d behind: steps known %v, but the ring reaches %d back", last-i, ok, reach)
		}
		if !ok {
			continue
		}
		known := formsOf(t, a.entries)
		for j, step := range steps {
			play(rt, t, known, formsOf(t, history[i+j+1].entries), step)
		}
		if diff := cmp.Diff(formsOf(t, current.entries), known); diff != "" {
			rt.Errorf("%d behind, after %d steps (-want +got):\n%s", last-i, len(steps), diff)
		}
	}
}

// An entry is reused while its address is the same value, and its bytes while they would be equal.
func TestEntriesAreReused(t *testing.T) {
	config := testConfig()
	x := newEncoder(&config, addressQuery{port: 80})
	endpoints := resolve(t, catalog.Query{Port: 80}, service("web"), pod("a"), pod("b"), pod("c"), slice("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")), at("10.0.0.3", podKey("c"))))
	first := x.entries(endpoints, nil)
	if len(first) != 3 {
		t.Fatalf("%d entries, want 3", len(first))
	}
	for i, e := range x.entries(endpoints[1:], first) {
		if e != first[i+1] {
			t.Errorf("entry %d is another one although its address is the same", i)
		}
	}
	// Equal endpoints in other values, as after a change of the pod without an effect.
	again := resolve(t, catalog.Query{Port: 80}, service("web"), pod("a"), slice("s", at("10.0.0.1", podKey("a"))))
	second := x.entries(again, first)
	if second[0] == first[0] || &second[0].wire[0] != &first[0].wire[0] {
		t.Error("an entry with the same bytes doesn't share them")
	}
	if second[0].endpoint.Address != again[0].Address {
		t.Error("an entry has the address of an older snapshot")
	}
}

// An endpoint that can't be encoded is left out and reported.
func TestUnencodableEndpoint(t *testing.T) {
	config := testConfig()
	var reported []objectmeta.Problem
	config.Report = func(p objectmeta.Problem) { reported = append(reported, p) }
	bare := pod("b", func(w *catalog.Workload) { w.Proxy = nil })
	endpoints := resolve(t, catalog.Query{Port: 80}, service("web"), pod("a"), bare, slice("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b"))))
	list := newEncoder(&config, addressQuery{port: 80}).entries(endpoints, nil)
	if len(list) != 1 || list[0].endpoint.Addr != addrPort("10.0.0.1:8080") {
		t.Errorf("%d entries, want that of the good pod", len(list))
	}
	want := []objectmeta.Problem{{
		Kind: "Pod", Namespace: "ns", Name: "b", Field: "address 10.0.0.2",
		Reason: "the pod is labelled as meshed but has no container named linkerd-proxy; inject the proxy or remove the label linkerd.io/control-plane-ns",
	}}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// The labels of a set (§2.4; E10).
func TestSetLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		mirror catalog.Mirror
		want   map[string]string
	}{
		"E10":               {want: map[string]string{"service": "web", "namespace": "ns"}},
		"a mirror":          {mirror: catalog.Mirror{Cluster: "west", Namespace: "prod", Name: "shop"}, want: map[string]string{"service": "web", "namespace": "ns", "target_cluster": "west", "target_service": "shop", "target_service_namespace": "prod"}},
		"an unnamed mirror": {mirror: catalog.Mirror{Cluster: "west"}, want: map[string]string{"service": "web", "namespace": "ns", "target_cluster": "west"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, setLabels(serviceKey("web"), tc.mirror)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStepsAreLimited shows that the kept steps have no more bytes than the entries. Otherwise a
// Service whose endpoints all change again and again would need 17 times their memory.
func TestStepsAreLimited(t *testing.T) {
	v := &view{}
	filters := &catalog.Filters{}
	next := func(i int) *response {
		a := &response{stale: make(chan struct{}), filters: filters}
		for n := range 1_000 {
			a.entries = append(a.entries, &entry{
				endpoint: catalog.Endpoint{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 80)},
				wire:     fmt.Appendf(nil, "%0100d", i), labels: &labels{},
			})
		}
		return a
	}
	v.current.Store(next(0))
	for i := range 2 * ringSize {
		a := next(i + 1)
		if _, published := v.publish(a); !published {
			t.Fatal("the change is not published")
		}
		if got, most := a.size(), 2*sizeOfEntries(a.entries); got > most {
			t.Fatalf("after %d changes the response has %d bytes, want at most %d", i+1, got, most)
		}
		if _, ok := a.since(a.version - 1); !ok {
			t.Error("the last step is missing")
		}
	}
}
