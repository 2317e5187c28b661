package clientlimits

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"testing"
)

// Another host is one client, whatever its ports. Each connection from our own host is a client, because it
// may carry the calls of others.
func TestClientOf(t *testing.T) {
	tcp := func(a string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(a)) }
	for name, tc := range map[string]struct {
		remote, local, want string
	}{
		"another host":          {"10.0.0.1:4000", "10.0.0.9:8086", "10.0.0.1:0"},
		"another host, mapped":  {"[::ffff:10.0.0.1]:4000", "[::ffff:10.0.0.9]:8086", "10.0.0.1:0"},
		"the proxy in our pod":  {"10.0.0.9:4000", "10.0.0.9:8086", "10.0.0.9:4000"},
		"the same, by loopback": {"127.0.0.1:4000", "10.0.0.9:8086", "127.0.0.1:4000"},
		"the same, over IPv6":   {"[::1]:4000", "[::1]:8086", "[::1]:4000"},
	} {
		if got := ClientOf(tcp(tc.remote), tcp(tc.local)); got != netip.MustParseAddrPort(tc.want) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if got := ClientOf(&net.UnixAddr{}, &net.UnixAddr{}); got != (ClientID{}) {
		t.Errorf("without TCP: %s", got)
	}
}

// A client above its limits doesn't use up those of others.
func TestClientsHaveSeparateLimits(t *testing.T) {
	greedy, other := netip.MustParseAddrPort("10.0.0.1:0"), netip.MustParseAddrPort("10.0.0.2:0")
	limits := Limits{MaxConcurrentStreamsPerHost: 1, MaxPendingRequests: 1, MaxQueriesPerClient: 1}.WithDefaults()
	why := map[Refusal]int{}
	c := NewClients(&limits, func(r Refusal, _ ClientID) { why[r]++ })
	for id, want := range map[ClientID]int{greedy: 3, other: 1} {
		for i := range want {
			if err := c.BeginStream(id); (err == nil) != (i == 0) {
				t.Errorf("stream %d of %s: %v", i, id, err)
			}
			if err := c.BeginRequest(id); (err == nil) != (i == 0) {
				t.Errorf("request %d of %s: %v", i, id, err)
			}
			if err := c.BeginQuery(id); (err == nil) != (i == 0) {
				t.Errorf("query %d of %s: %v", i, id, err)
			}
		}
	}
	if why[RefusedStreamOfHost] != 2 || why[RefusedPending] != 2 || why[RefusedQueryOfClient] != 2 {
		t.Errorf("refusals %v", why)
	}
	for _, id := range []ClientID{greedy, other} {
		c.EndStream(id)
		c.EndRequest(id)
		c.EndQuery(id)
	}
	if !c.Idle() {
		t.Errorf("%v and %v are still counted", c.m, c.all)
	}
}

// TestStreamsOfOurHost shows that the proxy in our pod may carry any number of calls.
func TestStreamsOfOurHost(t *testing.T) {
	limits := Limits{MaxConcurrentStreamsPerHost: 1}.WithDefaults()
	c := NewClients(&limits, func(r Refusal, _ ClientID) { t.Errorf("refused: %s", r) })
	proxy := netip.MustParseAddrPort("127.0.0.1:4000")
	for range 3 {
		if err := c.BeginStream(proxy); err != nil {
			t.Error(err)
		}
	}
	for range 3 {
		c.EndStream(proxy)
	}
	if !c.Idle() {
		t.Errorf("%v and %v are still counted", c.m, c.all)
	}
}

// All clients together are limited, too: 30,000 silent calls over ten connections took 190 MB (M3).
func TestPendingRequestsOfAll(t *testing.T) {
	limits := Limits{MaxPendingRequests: 2}.WithDefaults()
	c := NewClients(&limits, func(Refusal, ClientID) {})
	begun := map[ClientID]int{}
	for host := range 10 {
		id := netip.MustParseAddrPort(fmt.Sprintf("10.0.0.%d:0", host))
		for range 3 {
			if c.BeginRequest(id) == nil {
				begun[id]++
			}
		}
	}
	total := 0
	for id, n := range begun {
		total += n
		for range n {
			c.EndRequest(id)
		}
	}
	if total != pendingClients*2 {
		t.Errorf("%d calls were accepted, want %d", total, pendingClients*2)
	}
	if !c.Idle() {
		t.Errorf("%v and %v are still counted", c.m, c.all)
	}
}

// Every limit has a default.
func TestLimitsHaveDefaults(t *testing.T) {
	if got := (Limits{}).WithDefaults(); got != DefaultLimits() {
		t.Errorf("defaults %+v", got)
	}
	fields := reflect.ValueOf(DefaultLimits())
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("%s has no default", fields.Type().Field(i).Name)
		}
	}
}
