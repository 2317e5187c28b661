package witness

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/dev/lab/history"
)

func tcp(text string) *net.TcpAddress {
	a := netip.MustParseAddrPort(text)
	ip := &net.IPAddress{}
	if a.Addr().Is4() {
		b := a.Addr().As4()
		ip.Ip = &net.IPAddress_Ipv4{Ipv4: uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])}
	} else {
		ip.Ip = &net.IPAddress_Ipv6{Ipv6: &net.IPv6{First: 0xfd00 << 48, Last: 1}}
	}
	return &net.TcpAddress{Ip: ip, Port: uint32(a.Port())}
}

func add(weight uint32, addresses ...string) *pb.Update {
	set := &pb.WeightedAddrSet{}
	for _, a := range addresses {
		set.Addrs = append(set.Addrs, &pb.WeightedAddr{Addr: tcp(a), Weight: weight})
	}
	return &pb.Update{Update: &pb.Update_Add{Add: set}}
}

func remove(addresses ...string) *pb.Update {
	set := &pb.AddrSet{}
	for _, a := range addresses {
		set.Addrs = append(set.Addrs, tcp(a))
	}
	return &pb.Update{Update: &pb.Update_Remove{Remove: set}}
}

func noEndpoints(exists bool) *pb.Update {
	return &pb.Update{Update: &pb.Update_NoEndpoints{NoEndpoints: &pb.NoEndpoints{Exists: exists}}}
}

// TestEndpoints shows what a client knows after some updates.
func TestEndpoints(t *testing.T) {
	const a, b, six = "10.0.0.1:80", "10.0.0.2:80", "[fd00::1]:80"
	const one, two = `{"weight":1}`, `{"weight":2}`
	for name, tt := range map[string]struct {
		updates []*pb.Update
		want    history.Stream
	}{
		"add":        {[]*pb.Update{add(1, b, a, six)}, history.Stream{Exists: true, Added: []string{a, b, six}, Addresses: map[string]string{a: one, b: one, six: one}}},
		"more":       {[]*pb.Update{add(1, a), add(1, b)}, history.Stream{Exists: true, Added: []string{b}, Addresses: map[string]string{a: one, b: one}}},
		"other":      {[]*pb.Update{add(1, a), add(2, a)}, history.Stream{Exists: true, Added: []string{a}, Addresses: map[string]string{a: two}}},
		"remove":     {[]*pb.Update{add(1, a, b), remove(b)}, history.Stream{Exists: true, Removed: []string{b}, Addresses: map[string]string{a: one}}},
		"empty":      {[]*pb.Update{noEndpoints(true)}, history.Stream{Exists: true}},
		"nothing":    {[]*pb.Update{add(1, b, a), noEndpoints(false)}, history.Stream{Removed: []string{a, b}}},
		"reborn":     {[]*pb.Update{noEndpoints(false), add(1, a)}, history.Stream{Exists: true, Added: []string{a}, Addresses: map[string]string{a: one}}},
		"not there":  {[]*pb.Update{add(1, a), remove(b)}, history.Stream{Exists: true, Removed: []string{b}, Addresses: map[string]string{a: one}, Problem: b + " is removed and wasn't there"}},
		"remove 1st": {[]*pb.Update{remove(a)}, history.Stream{Removed: []string{a}, Problem: a + " is removed and wasn't there"}},
		"gone twice": {[]*pb.Update{add(1, a), remove(a, a)}, history.Stream{Exists: true, Removed: []string{a, a}, Addresses: map[string]string{}, Problem: a + " is removed and wasn't there"}},
		"two of one": {[]*pb.Update{add(1, a, a)}, history.Stream{Exists: true, Added: []string{a, a}, Addresses: map[string]string{a: one}, Problem: a + " is added twice in one update"}},
		"silence":    {[]*pb.Update{{}}, history.Stream{Problem: "an update says nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			var s endpoints
			var got history.Stream
			for _, u := range tt.updates {
				got = s.apply(u)
			}
			tt.want.Event = history.StreamUpdated
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEndpointsAreKept shows that a later update doesn't change recorded events.
func TestEndpointsAreKept(t *testing.T) {
	var s endpoints
	first := s.apply(add(1, "10.0.0.1:80"))
	s.apply(remove("10.0.0.1:80"))
	if len(first.Addresses) != 1 {
		t.Errorf("the first update is now %+v", first)
	}
}

// TestNoAddress shows that an invalid address is a problem.
func TestNoAddress(t *testing.T) {
	for name, a := range map[string]*net.TcpAddress{
		"nothing":    nil,
		"no ip":      {Port: 80},
		"no port":    {Ip: tcp("10.0.0.1:80").GetIp()},
		"port 65536": {Ip: tcp("10.0.0.1:80").GetIp(), Port: 1 << 16},
	} {
		var s endpoints
		got := s.apply(&pb.Update{Update: &pb.Update_Add{Add: &pb.WeightedAddrSet{Addrs: []*pb.WeightedAddr{{Addr: a}}}}})
		if len(got.Addresses) != 0 || !strings.Contains(got.Problem, "is no address") {
			t.Errorf("%s: %+v", name, got)
		}
		if got = s.apply(&pb.Update{Update: &pb.Update_Remove{Remove: &pb.AddrSet{Addrs: []*net.TcpAddress{a}}}}); !strings.Contains(got.Problem, "is no address") {
			t.Errorf("remove %s: %+v", name, got)
		}
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = "10.0.0.1:80"
	}
	var s endpoints
	if got := s.apply(remove(many...)); len(got.Problem) > maxProblem+len("…") {
		t.Errorf("a problem of %d bytes", len(got.Problem))
	}
}

func TestAddressText(t *testing.T) {
	a := &pb.WeightedAddr{
		Addr: tcp("10.0.0.1:80"), Weight: 7, MetricLabels: map[string]string{"pod": "web-0", "zone": "b"},
		TlsIdentity: &pb.TlsIdentity{
			Strategy:   &pb.TlsIdentity_DnsLikeIdentity_{DnsLikeIdentity: &pb.TlsIdentity_DnsLikeIdentity{Name: "n"}},
			ServerName: &pb.TlsIdentity_DnsLikeIdentity{Name: "s"},
		},
		ProtocolHint:      &pb.ProtocolHint{Protocol: &pb.ProtocolHint_H2_{H2: &pb.ProtocolHint_H2{}}},
		AuthorityOverride: &pb.AuthorityOverride{AuthorityOverride: "o"},
	}
	before := proto.CloneOf(a)
	const want = `{"authorityOverride":{"authorityOverride":"o"},"metricLabels":{"namespace":"lab","pod":"web-0","zone":"b"},"protocolHint":{"h2":{}},` +
		`"tlsIdentity":{"dnsLikeIdentity":{"name":"n"},"serverName":{"name":"s"}},"weight":7}`
	for range 10 {
		if got := AddressText(a, map[string]string{"namespace": "lab", "zone": "a"}); got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
	}
	if !proto.Equal(a, before) {
		t.Errorf("the address was changed to %v", a)
	}
	if got, want := string(ProfileJSON(&pb.DestinationProfile{RetryBudget: &pb.RetryBudget{RetryRatio: 0.2}, FullyQualifiedName: "web"})),
		`{"fullyQualifiedName":"web","retryBudget":{"retryRatio":0.2}}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
