package dns_test

import (
	"net/netip"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestReverseName(t *testing.T) {
	tests := map[string]string{
		"192.0.2.7":        "7.2.0.192.in-addr.arpa",
		"::ffff:192.0.2.7": "7.2.0.192.in-addr.arpa",
		"2001:db8::1:af":   "f.a.0.0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		"fe80::1%eth0":     "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa",
	}
	for addr, want := range tests {
		if got := dns.ReverseName(netip.MustParseAddr(addr)); got != want {
			t.Errorf("ReverseName(%s) = %q, want %q", addr, got, want)
		}
	}
}
