package httplimits

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlaces shows who gets a place, and from whom. Hosts v1, v2 and so on are in one IPv6 network, and w1 is in another.
func TestPlaces(t *testing.T) {
	addresses := map[string]string{
		"a": "192.0.2.1:1", "b": "192.0.2.2:1", "c": "192.0.2.3:1",
		"v1": "[2001:db8::1]:1", "v2": "[2001:db8::2]:1", "v3": "[2001:db8::3]:1", "w1": "[2001:db8:0:1::1]:1",
	}
	for _, test := range []struct {
		name         string
		all, perHost int
		evict        bool
		// takes are the hosts that ask, one after the other. results are "+" for a free place, "-" for none, or the host
		// that loses a place, with the number of the request that had it where only one can be meant.
		takes, results string
	}{
		{"limit of a host", 4, 3, false, "a a a a b", "+ + + - +"},
		{"from the host with the most", 4, 3, false, "a a a b b b", "+ + + + a1 -"},
		{"not for an excess of one", 3, 3, false, "a a b b", "+ + + -"},
		{"own oldest at the limit of a host", 4, 2, true, "a a a a", "+ + a1 a2"},
		{"own oldest for an excess of one", 3, 3, true, "a a b b", "+ + + b3"},
		{"another host's for a host without one", 1, 1, true, "a b", "+ a1"},
		{"from the network with the most", 2, 2, false, "v1 v2 w1 w1", "+ + v -"},
		{"from the network with the most, not the host", 5, 5, false, "a a v1 v2 v3 c", "+ + + + + v"},
		{"within a network", 4, 4, false, "v1 v1 v1 v2 v2 v2", "+ + + + v11 -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlaces[string](test.all, test.perHost)
			p.evict = test.evict
			want := strings.Fields(test.results)
			var items []string
			for i, host := range strings.Fields(test.takes) {
				item := fmt.Sprint(host, i+1)
				items = append(items, item)
				victim, lost, ok := p.take(hostOf(addresses[host]), item)
				got := map[bool]string{true: "+", false: "-"}[ok]
				if lost {
					got = victim[:min(len(victim), len(want[i]))]
				}
				if got != want[i] || lost && !ok {
					t.Errorf("request %d: %s, want %s", i+1, got, want[i])
				}
				taken := 0
				for _, of := range p.byHost {
					taken += len(of)
				}
				if taken != p.taken || taken > p.all {
					t.Errorf("request %d: %d places are taken, of %d, and %d are counted", i+1, taken, p.all, p.taken)
				}
			}
			for range 2 {
				for i, host := range strings.Fields(test.takes) {
					p.leave(hostOf(addresses[host]), items[i])
				}
			}
			if p.taken != 0 || len(p.byHost) != 0 {
				t.Errorf("in the end %d places are taken, and %d hosts remembered", p.taken, len(p.byHost))
			}
		})
	}
}

// A host has one address, whatever the form in which it comes.
func TestHostOf(t *testing.T) {
	for _, same := range [][2]string{{"192.0.2.1:1", "[::ffff:192.0.2.1]:2"}, {"[fe80::1%eth0]:1", "[fe80::1%eth1]:1"}, {"@", "/run/a.sock"}} {
		if a, b := hostOf(same[0]), hostOf(same[1]); a != b {
			t.Errorf("%q and %q are the hosts %v and %v", same[0], same[1], a, b)
		}
	}
}
