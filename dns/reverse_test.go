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

func TestReverseZone(t *testing.T) {
	tests := map[string]struct{ want, err string }{
		"10.0.0.0/8":           {want: "10.in-addr.arpa"},
		"10.20.30.0/24":        {want: "30.20.10.in-addr.arpa"},
		"10.20.30.0/25":        {want: "0/25.30.20.10.in-addr.arpa"},
		"10.20.30.128/25":      {want: "128/25.30.20.10.in-addr.arpa"},
		"10.20.30.4/31":        {want: "4/31.30.20.10.in-addr.arpa"},
		"10.20.30.4/32":        {want: "4.30.20.10.in-addr.arpa"},
		"10.20.30.4":           {want: "4.30.20.10.in-addr.arpa"},
		"::ffff:10.0.0.0/104":  {want: "10.in-addr.arpa"},
		"::ffff:10.20.30.4":    {want: "4.30.20.10.in-addr.arpa"},
		"2001:db8::/32":        {want: "8.b.d.0.1.0.0.2.ip6.arpa"},
		"2001:db8:f000::/36":   {want: "f.8.b.d.0.1.0.0.2.ip6.arpa"},
		"0.0.0.0/0":            {err: "everything"},
		"10.0.0.0/0":           {err: "not the first one"},
		"::/0":                 {err: "everything"},
		"::ffff:0.0.0.0/96":    {err: "everything"},
		"10.20.30.1/24":        {err: "write 10.20.30.0/24"},
		"10.16.0.0/12":         {err: "multiple of 8"},
		"2001:db8::/33":        {err: "multiple of 4"},
		"10.0.0.0/33":          {err: "write a network such as"},
		"example.org":          {err: "or an address"},
		"":                     {err: "or an address"},
		"2001:db8::/32/32":     {err: "write a network such as"},
		"::ffff:10.20.30.4/90": {err: "not the first one"},
	}

	for cidr, test := range tests {
		t.Run(cidr, func(t *testing.T) {
			got, err := dns.ReverseZone(cidr)
			wantError(t, err, test.err)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzReverseZone(f *testing.F) {
	for _, cidr := range []string{"10.20.30.0/25", "::ffff:10.0.0.0/104", "2001:db8::/36", "fe80::1%eth0", "::/0"} {
		f.Add(cidr)
	}
	f.Fuzz(func(t *testing.T, cidr string) {
		zone, err := dns.ReverseZone(cidr)
		if err != nil {
			return
		}
		if err := dns.CheckName(zone); err != nil {
			t.Errorf("ReverseZone(%q) = %q: %v", cidr, zone, err)
		}
	})
}
