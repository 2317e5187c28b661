package authority_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/authority"
	"github.com/signpostd/signpost/testkit/bindtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// BIND is queried for names that it has, that don't exist, and of other zones.
func TestBIND(t *testing.T) {
	records := "www 60 A 192.0.2.1\nwww 60 A 192.0.2.2\nalias CNAME www\n*.apps A 192.0.2.3\nt TXT \"a b\" \"c\"\n@ MX 10 www\n"
	for i := range 100 {
		records += fmt.Sprintf("many A 198.51.100.%d\n", i+1)
	}
	s, err := bindtest.Start(t.Context(), bindtest.Config{Zones: []bindtest.Zone{{Name: "example.test", Records: records}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	for _, test := range []struct {
		name, recordType string
		code, alias      string
		targets          []string
		ttl              uint32
	}{
		{"www.example.test", "A", "NOERROR", "", []string{"192.0.2.2", "192.0.2.1"}, 60},
		{"WWW.example.test.", "AAAA", "NOERROR", "", nil, 0},
		{"alias.example.test", "CNAME", "NOERROR", "", []string{"WWW.example.test"}, 300},
		{"alias.example.test", "A", "NOERROR", "www.example.test", nil, 300},
		{"shop.apps.example.test", "A", "NOERROR", "", []string{"192.0.2.3"}, 300},
		{"*.apps.example.test", "A", "NOERROR", "", []string{"192.0.2.3"}, 300},
		{"t.example.test", "TXT", "NOERROR", "", []string{"a bc"}, 300},
		{"example.test", "MX", "NOERROR", "", []string{"10  www.example.test."}, 300},
		{"nothing.example.test", "A", "NXDOMAIN", "", nil, 0},
		{"www.elsewhere.test", "A", "REFUSED", "", nil, 0},
	} {
		a := authority.Query(t.Context(), []string{s.Addr.String()}, test.name, []string{test.recordType})[0]
		if a.Err != nil || a.Code != test.code || a.Alias != test.alias || !authority.Same(test.recordType, test.targets, a.Targets) || a.TTL != test.ttl {
			t.Errorf("%s %s: %+v", test.name, test.recordType, a)
		}
		if a.Authoritative != (test.code != "REFUSED") {
			t.Errorf("%s: authoritative is %v", test.name, a.Authoritative)
		}
		if test.code == "NXDOMAIN" && a.NegativeTTL != 60 {
			t.Errorf("%s: a resolver remembers it for %d seconds", test.name, a.NegativeTTL)
		}
	}
	// A response that is too large for a packet is queried again over TCP.
	if a := authority.Query(t.Context(), []string{s.Addr.String()}, "many.example.test", []string{"A"})[0]; len(a.Targets) != 100 {
		t.Errorf("many: %d targets, %v", len(a.Targets), a.Err)
	}
}

// fake is a server whose responses a test sets.
func fake(t *testing.T, response func(*mdns.Msg) *mdns.Msg) string {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	server := &mdns.Server{PacketConn: l, NotifyStartedFunc: func() { close(started) }, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, q *mdns.Msg) {
		if reply := response(q); reply != nil {
			_ = w.WriteMsg(reply)
		}
	})}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = server.Shutdown(); <-ended })
	return l.LocalAddr().String()
}

// Responses to another query, with other names, or without end are ignored or limited.
func TestHostileServers(t *testing.T) {
	record := func(text string) mdns.RR {
		rr, err := mdns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		return rr
	}
	other := fake(t, func(q *mdns.Msg) *mdns.Msg {
		reply := new(mdns.Msg).SetReply(q)
		reply.Question[0].Name = "other.test."
		return reply
	})
	many := fake(t, func(q *mdns.Msg) *mdns.Msg {
		reply := new(mdns.Msg).SetReply(q)
		reply.Compress = true
		reply.Answer = append(reply.Answer, record("else.test. 5 IN A 203.0.113.9"))
		for i := range 60 {
			reply.Answer = append(reply.Answer, record(fmt.Sprintf("a.test. 5 IN A 192.0.2.%d", i)))
		}
		return reply
	})
	silent := fake(t, func(*mdns.Msg) *mdns.Msg { return nil })
	responses := authority.Query(t.Context(), []string{other, many, silent, "127.0.0.1:1", many}, "a.test", []string{"A", "AAAA"})
	if len(responses) != 8 {
		t.Fatalf("%d responses, want those of four servers about two types", len(responses))
	}
	for i, want := range map[int]string{0: "another question", 4: "has not answered within", 5: "has not answered within", 6: "127.0.0.1:1"} {
		if err := responses[i].Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("response %d: %v, want %q", i, err, want)
		}
	}
	if a := responses[2]; a.Err != nil || a.Authoritative || slices.Contains(a.Targets, "203.0.113.9") || len(a.Targets) != 60 {
		t.Errorf("of very many records: %+v", a)
	}
	if a := authority.Query(t.Context(), []string{many}, "a.test", []string{"NONE"})[0]; a.Err == nil {
		t.Error("an unknown type was asked for")
	}
}

// names is a resolver with fixed name servers.
type names map[string][]string

func (n names) LookupNS(_ context.Context, zone string) ([]*net.NS, error) {
	var found []*net.NS
	for _, host := range n[zone] {
		found = append(found, &net.NS{Host: host})
	}
	if len(found) == 0 {
		return nil, errors.New("no such host")
	}
	return found, nil
}

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, address := range n[host] {
		found = append(found, netip.MustParseAddr(address))
	}
	if len(found) == 0 {
		return nil, errors.New("no such host")
	}
	return found, nil
}

func TestServers(t *testing.T) {
	resolver := names{
		"example.test.": {"a.test", "b.test", "lost.test", "c.test", "d.test"},
		"a.test":        {"2001:db8::1", "192.0.2.1"}, "b.test": {"2001:db8::2"}, "c.test": {"192.0.2.3"}, "d.test": {"192.0.2.4"},
		"alone.test.": {"lost.test"},
	}
	got, err := authority.Servers(t.Context(), resolver, "example.test")
	if want := []string{"192.0.2.1:53", "[2001:db8::2]:53", "192.0.2.3:53"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for zone, want := range map[string]string{"alone.test": "lost.test", "none.test": "name servers of none.test"} {
		if _, err := authority.Servers(t.Context(), resolver, zone); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

func TestSame(t *testing.T) {
	for _, test := range []struct {
		recordType string
		a, b       []string
		want       bool
	}{
		{"A", []string{"192.0.2.1", "192.0.2.2"}, []string{"192.0.2.2", "192.0.2.1"}, true},
		{"AAAA", []string{"2001:DB8::1"}, []string{"2001:db8:0::1"}, true},
		{"CNAME", []string{"LB.example.org."}, []string{"lb.example.org"}, true},
		{"TXT", []string{`"v=spf1" " mx"`}, []string{"v=spf1 mx"}, true},
		{"TXT", []string{"Case"}, []string{"case"}, false},
		{"A", []string{"192.0.2.1"}, []string{"192.0.2.1", "192.0.2.2"}, false},
		{"A", []string{"192.0.2.1"}, nil, false},
		{"SRV", []string{"0  50 143 imap.test."}, []string{"0 50 143 IMAP.test"}, true},
	} {
		if got := authority.Same(test.recordType, test.a, test.b); got != test.want {
			t.Errorf("%s %v and %v: %v", test.recordType, test.a, test.b, got)
		}
	}
}
